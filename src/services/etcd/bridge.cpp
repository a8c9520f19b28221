#include "services/etcd/bridge.h"

#include <algorithm>
#include <list>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "api/control_protocol.h"
#include "base/span_text.h"
#include "platform/clocks/boot_clock.h"
#include "platform/unix_socket.h"
#include "services/etcd/http.h"
#include "services/etcd/session.h"

namespace tempo::etcd {
namespace {

constexpr std::size_t kMaxConnections = 8;  // one tempod, and a second one while it restarts
constexpr std::size_t kMaxClaims = 4096;    // locks per connection
constexpr int kMaxLinesAtOnce = 64;         // per connection and round
constexpr Nanos kLongestWait =
    250ms;  // limits the delay of a signal that arrives just before the wait
constexpr Nanos kStreamRetry = 1s;   // pause before the stream of changes is opened again
constexpr mode_t kEverybody = 0666;  // all may connect; the credentials are checked after accept()

// Timeout of a request: two failures in a row leave time for a third attempt.
Nanos timeout_of(Nanos lease) { return std::clamp<Nanos>(lease / 4, 500ms, 5s); }

class BridgeImpl final : public Bridge {
 public:
  BridgeImpl(Options options, sys::UnixListener listener, std::unique_ptr<Http> http)
      : options_(std::move(options)), listener_(std::move(listener)), http_(std::move(http)) {}

  void run(const volatile int& stop) override {
    while (stop == 0) {
      if (!following_ && sys::boot_clock() >= follow_at_) follow();
      wait();
      serve();
    }
    for (Connection& client : connections_) client.session.close(sys::boot_clock());
    for (int i = 0; i < 10 && !connections_.empty(); ++i) {  // let the last requests arrive
      std::vector<pollfd> none;
      http_->wait(none, 20ms);
    }
  }

 private:
  struct Connection final : Session::Driver {
    Connection(BridgeImpl& owner, std::uint64_t number, sys::Descriptor socket)
        : bridge(&owner),
          id(number),
          connection(std::move(socket)),
          session({.cluster = owner.options_.cluster,
                   .host = owner.options_.host,
                   .lease = owner.options_.lease},
                  *this) {}

    void ask(std::uint64_t number, const Request& request) override {
      bridge->ask(id, number, request);
    }
    void notify(const ipc::LockUpdate& update) override {
      connection.write(ipc::lock_line(update));
    }
    void refuse(std::int64_t claim, const std::string& sentence) override {
      connection.write(
          ipc::refusal_line({.code = ipc::Code::unavailable, .message = sentence, .id = claim}));
    }

    BridgeImpl* bridge;
    std::uint64_t id;
    sys::LineConnection connection;
    Session session;
  };

  // --- etcd ---

  void ask(std::uint64_t client, std::uint64_t number, const Request& request) {
    http_->post(request, [this, client, number](const Result<Json>& answer) {
      notify(answer ? "" : answer.error());
      const auto found = std::ranges::find(connections_, client, &Connection::id);
      if (found != connections_.end()) found->session.answered(sys::boot_clock(), number, answer);
    });
  }

  // One stream for all locks: it only reports that something has changed.
  void follow() {
    following_ = true;
    http_->follow(watch(directory_of(options_.cluster)), [this](const Result<Json>& line) {
      if (!line || !error_in(*line).empty()) {
        following_ = false;
        follow_at_ = sys::boot_clock() + kStreamRetry;
        notify(line ? "etcd error: " + error_in(*line) : line.error());
        return;
      }
      notify("");
      const auto keys = changed_keys(*line);
      for (Connection& client : connections_) {
        if (!keys || keys->empty()) client.session.changed_possibly(sys::boot_clock());
        if (!keys) continue;
        for (const std::string& key : *keys)
          client.session.changed(sys::boot_clock(), name_of(options_.cluster, key));
      }
    });
  }

  void notify(const std::string& error) {
    if (error == error_) return;
    error_ = error;
    fmt::print(stderr, "tempo-etcd: {}\n", status());
  }

  std::string status() const {
    if (!error_.empty()) return "no locks: " + error_;
    std::string all;
    for (const std::string& endpoint : options_.endpoints)
      all += (all.empty() ? "" : ", ") + endpoint;
    return fmt::format("locks are kept in etcd at {}; a lease lasts {} without contact to it", all,
                       span_text(options_.lease));
  }

  // --- tempod ---

  void wait() {
    BootTime due = sys::boot_clock() + kLongestWait;
    // Without a free descriptor the listener is not watched for one round.
    const bool listens = !listener_.exhausted();
    std::vector<pollfd> ends{{listener_.descriptor(), static_cast<short>(listens ? POLLIN : 0), 0}};
    if (!following_) due = std::min(due, follow_at_);
    for (const Connection& client : connections_) {
      ends.push_back({client.connection.descriptor(), client.connection.events(), 0});
      due = std::min(due, client.session.due());
    }
    http_->wait(ends, std::max(due - sys::boot_clock(), Nanos{0}));
  }

  void serve() {
    while (std::optional<sys::Descriptor> socket = listener_.accept()) {
      if (connections_.size() >= kMaxConnections) continue;
      connections_.emplace_back(*this, ++last_connection_, std::move(*socket));
      const auto peer = connections_.back().connection.peer();
      if (!peer || (peer->user != 0 && peer->user != geteuid())) connections_.pop_back();
    }
    for (auto client = connections_.begin(); client != connections_.end();) {
      const auto current = client++;
      receive(*current);
      current->session.on_timer(sys::boot_clock());
      if (!current->connection.broken() && !current->connection.finished()) continue;
      current->session.close(sys::boot_clock());
      connections_.erase(current);
    }
  }

  void receive(Connection& client) {
    client.connection.flush();
    for (int i = 0; i < kMaxLinesAtOnce; ++i) {
      const std::optional<std::string> line = client.connection.line();
      if (!line) return;
      client.session.tempod_active(sys::boot_clock());
      const auto request = ipc::parse_request(*line);
      const std::string reply =
          request ? answer(client, *request) : ipc::refusal_line(request.error());
      if (!reply.empty()) client.connection.write(reply);
    }
  }

  // Returns the reply; empty: it follows later.
  std::string answer(Connection& client, const ipc::Request& request) {
    const auto refuse = [&](ipc::Code code, std::string sentence) {
      return ipc::refusal_line({.code = code, .message = std::move(sentence), .id = request.id});
    };
    const BootTime now = sys::boot_clock();
    switch (request.verb) {
      case ipc::Verb::lock:
        if (client.session.has(request.id))
          return refuse(ipc::Code::bad_request,
                        "this connection already has a lock with that id; use another id");
        if (client.session.size() >= kMaxClaims)
          return refuse(ipc::Code::unavailable, "too many locks; release some");
        client.session.acquire(now, request.id, request.name, request.shared);
        return "";
      case ipc::Verb::unlock:
        client.session.release(now, request.id);
        return ipc::lock_line({.id = request.id, .state = ipc::LockUpdate::State::released});
      case ipc::Verb::locks:
        return ipc::locks_line({.guarantee = status()});
      default:
        return ipc::refusal_line(
            {.code = ipc::Code::unavailable,
             .message = "tempo-etcd serves only lock requests; send this one to tempod"});
    }
  }

  Options options_;
  sys::UnixListener listener_;
  std::unique_ptr<Http> http_;
  std::list<Connection> connections_;  // at most kMaxConnections
  std::uint64_t last_connection_ = 0;
  bool following_ = false;
  BootTime follow_at_{};
  std::string error_ = "waiting for the first answer of etcd";  // empty: etcd answers
};

}  // namespace

Result<std::unique_ptr<Bridge>> Bridge::open(const Options& options) {
  TRY(listener, sys::UnixListener::open(options.socket, kEverybody));
  TRY(http, Http::create({.endpoints = options.endpoints,
                          .ca_file = options.ca_file,
                          .cert_file = options.cert_file,
                          .key_file = options.key_file,
                          .timeout = timeout_of(options.lease)}));
  return std::make_unique<BridgeImpl>(options, std::move(listener), std::move(http));
}

}  // namespace tempo::etcd
