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

constexpr std::size_t kMaxCallers = 8;    // one is usual; one more while tempod restarts
constexpr std::size_t kMaxClaims = 4096;  // of one caller
constexpr int kMaxLinesAtOnce = 64;       // of one caller, in one round
constexpr Nanos kLongestWait = 250ms;     // a signal just before it does not end it
constexpr Nanos kStreamAgain = 1s;        // after the stream of changes broke
constexpr mode_t kEverybody = 0666;       // may connect; who it is, the kernel says

// What is asked may take this long: two failures in a row leave time for a third.
Nanos patience_of(Nanos lease) { return std::clamp<Nanos>(lease / 4, 500ms, 5s); }

class RealBridge final : public Bridge {
 public:
  RealBridge(Options options, sys::UnixListener listener, std::unique_ptr<Http> http)
      : options_(std::move(options)), listener_(std::move(listener)), http_(std::move(http)) {}

  void run(const volatile int& stop) override {
    while (stop == 0) {
      if (!following_ && sys::boot_clock() >= follow_at_) follow();
      wait();
      serve();
    }
    for (Caller& caller : callers_) caller.session.close(sys::boot_clock());
    for (int i = 0; i < 10 && !callers_.empty(); ++i) {  // what was asked last is to arrive
      std::vector<pollfd> none;
      http_->wait(none, 20ms);
    }
  }

 private:
  struct Caller final : Session::Driver {
    Caller(RealBridge& owner, std::uint64_t number, sys::Descriptor socket)
        : bridge(&owner),
          id(number),
          connection(std::move(socket)),
          session({.cluster = owner.options_.cluster,
                   .host = owner.options_.host,
                   .lease = owner.options_.lease},
                  *this) {}

    void ask(std::uint64_t number, const Question& question) override {
      bridge->ask(id, number, question);
    }
    void notify(const ipc::LockUpdate& news) override { connection.write(ipc::lock_line(news)); }
    void refuse(std::int64_t claim, const std::string& sentence) override {
      connection.write(
          ipc::refusal_line({.code = ipc::Code::unavailable, .sentence = sentence, .id = claim}));
    }

    RealBridge* bridge;
    std::uint64_t id;
    sys::LineConnection connection;
    Session session;
  };

  // --- etcd ---

  void ask(std::uint64_t caller, std::uint64_t number, const Question& question) {
    http_->post(question, [this, caller, number](const Result<Json>& answer) {
      notify(answer ? "" : answer.error());
      const auto found = std::ranges::find(callers_, caller, &Caller::id);
      if (found != callers_.end()) found->session.answered(sys::boot_clock(), number, answer);
    });
  }

  // One stream for the locks of all: it says that something has changed, and never what.
  void follow() {
    following_ = true;
    http_->follow(watch(directory_of(options_.cluster)), [this](const Result<Json>& line) {
      if (!line || !complaint_in(*line).empty()) {
        following_ = false;
        follow_at_ = sys::boot_clock() + kStreamAgain;
        notify(line ? "etcd refuses: " + complaint_in(*line) : line.error());
        return;
      }
      notify("");
      const auto keys = changed_keys(*line);
      for (Caller& caller : callers_) {
        if (!keys || keys->empty()) caller.session.changed_perhaps(sys::boot_clock());
        if (!keys) continue;
        for (const std::string& key : *keys)
          caller.session.changed(sys::boot_clock(), name_of(options_.cluster, key));
      }
    });
  }

  void notify(const std::string& trouble) {
    if (trouble == trouble_) return;
    trouble_ = trouble;
    fmt::print(stderr, "tempo-etcd: {}\n", status());
  }

  std::string status() const {
    if (!trouble_.empty()) return "no locks: " + trouble_;
    std::string all;
    for (const std::string& endpoint : options_.endpoints)
      all += (all.empty() ? "" : ", ") + endpoint;
    return fmt::format("locks are kept in etcd at {}; a lease lasts {} without contact to it", all,
                       span_text(options_.lease));
  }

  // --- tempod ---

  void wait() {
    std::vector<pollfd> ends{{listener_.descriptor(), POLLIN, 0}};
    Instant due = sys::boot_clock() + kLongestWait;
    if (!following_) due = std::min(due, follow_at_);
    for (const Caller& caller : callers_) {
      ends.push_back({caller.connection.descriptor(), caller.connection.events(), 0});
      due = std::min(due, caller.session.due());
    }
    http_->wait(ends, std::max(due - sys::boot_clock(), Nanos{0}));
  }

  void serve() {
    while (std::optional<sys::Descriptor> socket = listener_.accept()) {
      if (callers_.size() >= kMaxCallers) continue;
      callers_.emplace_back(*this, ++last_caller_, std::move(*socket));
      const auto who = callers_.back().connection.peer();
      if (!who || (who->user != 0 && who->user != geteuid())) callers_.pop_back();
    }
    for (auto caller = callers_.begin(); caller != callers_.end();) {
      const auto current = caller++;
      receive(*current);
      current->session.on_timer(sys::boot_clock());
      if (!current->connection.broken() && !current->connection.finished()) continue;
      current->session.close(sys::boot_clock());
      callers_.erase(current);
    }
  }

  void receive(Caller& caller) {
    caller.connection.flush();
    for (int i = 0; i < kMaxLinesAtOnce; ++i) {
      const std::optional<std::string> line = caller.connection.line();
      if (!line) return;
      caller.session.heard_of_tempod(sys::boot_clock());
      const auto request = ipc::parse_request(*line);
      const std::string reply =
          request ? answer(caller, *request) : ipc::refusal_line(request.error());
      if (!reply.empty()) caller.connection.write(reply);
    }
  }

  // Empty: it comes later.
  std::string answer(Caller& caller, const ipc::Request& request) {
    const auto refuse = [&](ipc::Code code, std::string sentence) {
      return ipc::refusal_line({.code = code, .sentence = std::move(sentence), .id = request.id});
    };
    const Instant now = sys::boot_clock();
    switch (request.verb) {
      case ipc::Verb::lock:
        if (caller.session.has(request.id))
          return refuse(ipc::Code::bad_request, "there is a lock of that id; take another");
        if (caller.session.size() >= kMaxClaims)
          return refuse(ipc::Code::unavailable, "too many programs have locks; release some");
        caller.session.acquire(now, request.id, request.name, request.shared);
        return "";
      case ipc::Verb::unlock:
        caller.session.release(now, request.id);
        return ipc::lock_line({.id = request.id, .state = ipc::LockUpdate::State::released});
      case ipc::Verb::locks:
        return ipc::locks_line(status(), {});
      default:
        return ipc::refusal_line(
            {.code = ipc::Code::unavailable, .sentence = "this is a bridge for locks; ask tempod"});
    }
  }

  Options options_;
  sys::UnixListener listener_;
  std::unique_ptr<Http> http_;
  std::list<Caller> callers_;  // at most kMaxCallers
  std::uint64_t last_caller_ = 0;
  bool following_ = false;
  Instant follow_at_{};
  std::string trouble_ = "nothing was heard from etcd yet";  // empty: it answers
};

}  // namespace

Result<std::unique_ptr<Bridge>> Bridge::open(const Options& options) {
  TRY(listener, sys::UnixListener::open(options.socket, kEverybody));
  TRY(http, Http::create({.endpoints = options.endpoints,
                          .ca_file = options.ca_file,
                          .cert_file = options.cert_file,
                          .key_file = options.key_file,
                          .patience = patience_of(options.lease)}));
  return std::make_unique<RealBridge>(options, std::move(listener), std::move(http));
}

}  // namespace tempo::etcd
