#include "tempo/fake.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/control_protocol.h"
#include "api/page_file.h"
#include "base/check.h"
#include "client/boot_clock.h"
#include "client/client.h"
#include "client/election_connection.h"
#include "client/fake_groups.h"
#include "client/fake_locks.h"
#include "client/lock_connection.h"
#include "client/status_json.h"

namespace tempo {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kTimeout = std::chrono::seconds{5};
constexpr std::size_t kMaxConnections = 1024;

// Nanoseconds by which the network's clock is ahead of the machine's. Shared with clients, which
// may outlive the network.
using ClockLead = std::shared_ptr<std::atomic<std::int64_t>>;

nanoseconds network_clock(const ClockLead& lead) {
  return boot_clock() + nanoseconds{lead->load()};
}

struct Connection {
  int socket = -1;
  bool same_clock = false;  // its client uses the network's clock (FakeNetwork::locks, stand)
  bool watches = false;
  std::string input{};  // at most one line and the bytes of one recv
  bool closed = false;
};

}  // namespace

class FakeNetwork::Impl {
 public:
  explicit Impl(const Options& options) : lease_(options.lease) {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-fake-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    auto page = page::Writer::open(page_path());
    CHECK(page.has_value());
    page_.emplace(*std::move(page));
    status_.name = "fake";
    status_.cluster = "fake";
    status_.master = "fake";
    status_.locks = "1 voter; locks need fake";
    status_.members = {{.name = "fake", .address = {}, .role = "master", .self = true}};
    set_now(options.now);
    listen();
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    stopping_ = true;
    wake();
    thread_.join();
    for (const Connection& connection : connections_) ::close(connection.socket);
    ::close(listener_);
    ::close(wakeup_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string socket() const { return directory_ + "/tempod.sock"; }
  std::string page_path() const { return directory_ + "/tempod.page"; }
  const ClockLead& clock_lead() const { return clock_lead_; }

  // Returns the client's end of a connection that uses the network's clock.
  int connect() {
    std::array<int, 2> pair{};
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) == 0);
    const std::lock_guard lock(mutex_);
    connections_.push_back({.socket = pair[0], .same_clock = true});
    wake();
    return pair[1];
  }

  void set_now(const Now& now) {
    const std::lock_guard lock(mutex_);
    now_ = now;
    set_at_ = now_on_network();
    publish();
    send_status();
  }

  void advance(nanoseconds span) {
    const std::lock_guard lock(mutex_);
    // Send the extensions before the clock moves, so that no lease expires meanwhile.
    if (!paused_) extend_all(now_on_network() + span);
    clock_lead_->fetch_add(span.count());
    publish();
    if (paused_) return;
    expire();
    send_status();
    for (Connection& connection :
         connections_)  // wakes waiting clients, which read the clock again
      if (connection.same_clock) send(connection, ipc::done_line());
  }

  void refuse(ErrorCode code, const std::string& message) {
    const std::lock_guard lock(mutex_);
    refusal_.reset();
    if (!message.empty())
      refusal_ = ipc::Refusal{.code = code == ErrorCode::not_allowed   ? ipc::Code::not_allowed
                                      : code == ErrorCode::bad_request ? ipc::Code::bad_request
                                                                       : ipc::Code::unavailable,
                              .message = message};
  }

  // Run a function on the locks or the groups, under the mutex.
  template <class Function>
  auto with_locks(Function function) {
    const std::lock_guard lock(mutex_);
    return function(locks_);
  }
  template <class Function>
  auto with_groups(Function function) {
    const std::lock_guard lock(mutex_);
    return function(groups_);
  }

  void pause(bool on) {
    const std::lock_guard lock(mutex_);
    paused_ = on;
    if (on) return;
    expire();
    extend_all(now_on_network());
    wake();
  }
  void restart() {
    const std::lock_guard lock(mutex_);
    for (Connection& connection : connections_) leave(connection, true);
    paused_ = false;
    wake();
  }
  void set_status(const Status& status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    send_status();
  }
  void emit_event(const Event& event) {
    const std::lock_guard lock(mutex_);
    const std::string line = ipc::event_line(
        {.name = event.name, .at_ns = event.at.time_since_epoch().count(), .text = event.text});
    for (Connection& connection : connections_)
      if (connection.watches) send(connection, line);
  }

 private:
  // --- the thread of the fake tempod ---

  void listen() {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket();
    CHECK(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_, 64) == 0);
    wakeup_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }

  void wake() const { ::eventfd_write(wakeup_, 1); }

  void run() {
    std::vector<pollfd> polled;
    while (!stopping_) {
      polled.assign({{wakeup_, POLLIN, 0}, {listener_, POLLIN, 0}});
      {
        const std::lock_guard lock(mutex_);
        if (!paused_)
          for (const Connection& connection : connections_)
            polled.push_back({connection.socket, POLLIN, 0});
      }
      const auto tick = std::clamp<std::int64_t>(
          std::chrono::duration_cast<milliseconds>(lease_ / 4).count(), 1, 1000);
      ::poll(polled.data(), polled.size(), static_cast<int>(tick));
      eventfd_t count = 0;
      ::eventfd_read(wakeup_, &count);
      const std::lock_guard lock(mutex_);
      if (!paused_) serve();
    }
  }

  void serve() {
    for (int accepted = 0;
         (accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
      if (connections_.size() < kMaxConnections)
        connections_.push_back({.socket = accepted});
      else
        ::close(accepted);
    }
    for (Connection& connection : connections_) receive(connection);
    for (auto connection = connections_.begin(); connection != connections_.end();) {
      const auto current = connection++;
      if (!current->closed) continue;
      leave(*current, false);
      ::close(current->socket);
      connections_.erase(current);
    }
    expire();
    // Often enough for every lease, and rarely enough not to flood the clients.
    if (now_on_network() >= extended_at_ + lease_ / 4) extend_all(now_on_network());
  }

  void receive(Connection& connection) {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; !connection.closed && (got = ::recv(connection.socket, buffer.data(),
                                                              buffer.size(), 0)) != -1;) {
      if (got == 0) connection.closed = true;
      connection.input.append(buffer.data(), static_cast<std::size_t>(got));
      for (std::size_t end = 0; (end = connection.input.find('\n')) != std::string::npos;) {
        const std::string line = connection.input.substr(0, end);
        connection.input.erase(0, end + 1);
        const auto request = ipc::parse_request(line);
        if (request)
          answer(connection, *request);
        else
          send(connection, ipc::refusal_line(request.error()));
      }
      if (connection.input.size() > ipc::kMaxRequest) connection.closed = true;
    }
    if (!connection.closed && errno != EAGAIN && errno != EINTR) connection.closed = true;
  }

  void answer(Connection& connection, const ipc::Request& request) {
    switch (request.verb) {
      case ipc::Verb::lock:
        if (!refuses(connection, request)) locks_.lock(&connection, request);
        return;
      case ipc::Verb::unlock:
        return locks_.unlock(&connection, request.id);
      case ipc::Verb::now:
        return send(connection, ipc::now_line(ipc_now_of(network_time())));
      case ipc::Verb::status:
        return send(connection, status_line());
      case ipc::Verb::watch:
      case ipc::Verb::events:
        connection.watches = true;
        send(connection, ipc::done_line());
        return send(connection, status_line());
      default:
        if (request.verb == ipc::Verb::elect && refuses(connection, request)) return;
        if (const std::string line = groups_.answer(&connection, request); !line.empty())
          send(connection, line);
    }
  }

  bool refuses(Connection& connection, const ipc::Request& request) const {
    if (!refusal_) return false;
    ipc::Refusal refusal = *refusal_;
    refusal.id = request.id;
    send(connection, ipc::refusal_line(refusal));
    return true;
  }

  void extend_all(nanoseconds now) {
    extended_at_ = now;
    groups_.extend_all(now);
    locks_.extend_all(now);
  }
  void expire() {
    groups_.expire();
    locks_.expire();
  }

  // When the daemon ends, the client's locks and leadership last until their deadlines.
  void leave(Connection& connection, bool daemon_ends) {
    groups_.leave(&connection,
                  daemon_ends ? FakeGroups::End::of_the_daemon : FakeGroups::End::of_the_client);
    if (!daemon_ends) return locks_.leave(&connection);
    locks_.outlive(&connection);
    ::shutdown(connection.socket, SHUT_RDWR);
    connection.closed = true;
  }

  // Disconnects a client that does not read its replies.
  static void send(Connection& connection, const std::string& line) {
    const std::string text = line + '\n';
    if (::send(connection.socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(text.size()))
      connection.closed = true;
  }

  // The connection of a client of `locks_` or `groups_`; both forget it before it is erased.
  Connection& connection_of(const void* client) {
    return *std::ranges::find_if(connections_,
                                 [&](const Connection& one) { return &one == client; });
  }

  // --- time ---

  nanoseconds now_on_network() const { return network_clock(clock_lead_); }
  // A time of the network's clock on the clock of the client.
  std::int64_t on_clock_of(const Connection& connection, nanoseconds network) const {
    return (connection.same_clock ? network : network - nanoseconds{clock_lead_->load()}).count();
  }

  Now network_time() const {
    const nanoseconds passed = now_on_network() - set_at_;
    Now now = now_;
    now.time += passed;
    if (now.status == TimeStatus::unsynchronized) return now;
    now.earliest += passed;
    now.latest += passed;
    return now;
  }

  void publish() {
    const auto wall = [](NetworkTime time) { return WallTime{time.time_since_epoch()}; };
    const Now now = network_time();
    const page::Moment moment = page::read_moment_closely();
    const bool known = now.status != TimeStatus::unsynchronized;
    page_->write({.raw = moment.raw,
                  .boot = moment.boot,
                  .real = moment.real,
                  .time = {.shows = wall(now.time)},
                  .earliest = {.shows = wall(known ? now.earliest : now.time)},
                  .latest = {.shows = wall(known ? now.latest : now.time)},
                  .held_wander = 0,
                  .fresh = page::kLongest,
                  .lasts = page::kLongest,
                  .status = static_cast<page::Status>(now.status)});
  }

  std::string status_line() const {
    Status status = status_;
    status.now = network_time();
    return ipc::status_line(snapshot_of(status).line());
  }
  void send_status() {
    for (Connection& connection : connections_)
      if (connection.watches) send(connection, status_line());
  }

  const nanoseconds lease_;
  std::string directory_;
  std::optional<page::Writer> page_;
  int listener_ = -1;
  int wakeup_ = -1;  // an eventfd that wakes the thread
  std::atomic<bool> stopping_ = false;
  std::thread thread_;

  mutable std::mutex mutex_;           // protects all members below
  std::list<Connection> connections_;  // by path: at most kMaxConnections
  FakeLocks locks_{{.lease = lease_,
                    .now = [this] { return now_on_network(); },
                    .notify =
                        [this](FakeLocks::Client client, ipc::LockUpdate update) {
                          Connection& connection = connection_of(client);
                          if (update.until_ns != 0)
                            update.until_ns = on_clock_of(connection, nanoseconds{update.until_ns});
                          send(connection, ipc::lock_line(update));
                        }}};
  FakeGroups groups_{{.lease = lease_,
                      .now = [this] { return now_on_network(); },
                      .notify =
                          [this](FakeGroups::Client client, ipc::LeadershipUpdate update) {
                            Connection& connection = connection_of(client);
                            update.until_ns = on_clock_of(connection, nanoseconds{update.until_ns});
                            send(connection, ipc::election_line(update));
                          },
                      .show =
                          [this](FakeGroups::Client client, const ipc::GroupView& group) {
                            send(connection_of(client), ipc::group_line(group));
                          }}};
  std::optional<ipc::Refusal> refusal_;
  bool paused_ = false;
  Status status_;
  Now now_;
  nanoseconds set_at_{0};       // time of `set_now`, on the network's clock
  nanoseconds extended_at_{0};  // last extension of the leases, on the network's clock
  ClockLead clock_lead_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

Now FakeNetwork::synchronized_at(NetworkTime time, nanoseconds bound) {
  Now now;
  now.time = time;
  now.earliest = time - bound;
  now.latest = time + bound;
  now.status = TimeStatus::synchronized;
  return now;
}

FakeNetwork::FakeNetwork() : FakeNetwork(Options()) {}
FakeNetwork::FakeNetwork(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
FakeNetwork::~FakeNetwork() = default;

Expected<Locks, Error> FakeNetwork::locks() const {
  return Locks(std::make_shared<LockConnection>(
      client::Client::over(impl_->connect(), kTimeout),
      [lead = impl_->clock_lead()] { return network_clock(lead); }));
}
Expected<Election, Error> FakeNetwork::stand(const std::string& group,
                                             const CandidateOptions& options) const {
  return Election::stand_on(std::make_unique<ElectionConnection>(
                                client::Client::over(impl_->connect(), kTimeout),
                                [lead = impl_->clock_lead()] { return network_clock(lead); }),
                            group, options, kTimeout);
}
Expected<Daemon, Error> FakeNetwork::daemon() const { return Daemon::connect(socket()); }
Expected<TimePage, Error> FakeNetwork::page() const { return TimePage::open(page_path()); }
std::string FakeNetwork::socket() const { return impl_->socket(); }
std::string FakeNetwork::page_path() const { return impl_->page_path(); }

void FakeNetwork::set_now(const Now& now) { impl_->set_now(now); }
void FakeNetwork::advance(nanoseconds span) { impl_->advance(span); }
void FakeNetwork::acquire_elsewhere(const std::string& name, bool shared) {
  impl_->with_locks([&](FakeLocks& locks) { locks.acquire_elsewhere(name, shared); });
}
void FakeNetwork::release_elsewhere(const std::string& name) {
  impl_->with_locks([&](FakeLocks& locks) { locks.release_elsewhere(name); });
}
void FakeNetwork::lose(const std::string& name) {
  impl_->with_locks([&](FakeLocks& locks) { locks.lose(name); });
}
void FakeNetwork::refuse(ErrorCode code, const std::string& message) {
  impl_->refuse(code, message);
}
std::size_t FakeNetwork::holders(const std::string& name) const {
  return impl_->with_locks([&](const FakeLocks& locks) { return locks.count(name, true); });
}
std::size_t FakeNetwork::waiters(const std::string& name) const {
  return impl_->with_locks([&](const FakeLocks& locks) { return locks.count(name, false); });
}
void FakeNetwork::elect_elsewhere(const std::string& group, const std::string& host) {
  impl_->with_groups([&](FakeGroups& groups) { groups.elect_elsewhere(group, host); });
}
void FakeNetwork::elect_here(const std::string& group) {
  impl_->with_groups([&](FakeGroups& groups) { groups.elect_here(group); });
}
void FakeNetwork::lose_majority(const std::string& group) {
  impl_->with_groups([&](FakeGroups& groups) { groups.lose_majority(group); });
}
void FakeNetwork::finish_elsewhere(const std::string& group, const std::string& host) {
  impl_->with_groups([&](FakeGroups& groups) { groups.finish_elsewhere(group, host); });
}
bool FakeNetwork::leads(const std::string& group) const {
  return impl_->with_groups([&](const FakeGroups& groups) { return groups.leads(group); });
}
std::optional<std::int64_t> FakeNetwork::capacity(const std::string& group) const {
  return impl_->with_groups([&](const FakeGroups& groups) { return groups.capacity(group); });
}
void FakeNetwork::pause() { impl_->pause(true); }
void FakeNetwork::resume() { impl_->pause(false); }
void FakeNetwork::restart() { impl_->restart(); }
void FakeNetwork::set_status(const Status& status) { impl_->set_status(status); }
void FakeNetwork::emit_event(const Event& event) { impl_->emit_event(event); }

}  // namespace tempo
