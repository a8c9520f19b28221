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

constexpr nanoseconds kPatience = std::chrono::seconds{5};
constexpr std::size_t kMaxCallers = 1024;

// How far the network's clock is ahead of the machine's. Clients that outlive the network keep it.
using Ahead = std::shared_ptr<std::atomic<std::int64_t>>;

nanoseconds clock_with(const Ahead& ahead) { return boot_clock() + nanoseconds{ahead->load()}; }

struct Caller {
  int socket = -1;
  bool same_clock = false;  // it was made by `locks`
  bool watches = false;
  std::string input{};  // at most one line and what one reading brings
  bool gone = false;
};

}  // namespace

class FakeNetwork::Inside {
 public:
  explicit Inside(const Options& options) : lease_(options.lease) {
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
  ~Inside() {
    stopping_ = true;
    wake();
    thread_.join();
    for (const Caller& caller : callers_) ::close(caller.socket);
    ::close(listener_);
    ::close(bell_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  std::string socket() const { return directory_ + "/tempod.sock"; }
  std::string page_path() const { return directory_ + "/tempod.page"; }
  const Ahead& ahead() const { return ahead_; }

  // The other end of a connection whose clock is the network's.
  int connect() {
    std::array<int, 2> ends{};
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    const std::lock_guard lock(mutex_);
    callers_.push_back({.socket = ends[0], .same_clock = true});
    wake();
    return ends[1];
  }

  void set_now(const Now& now) {
    const std::lock_guard lock(mutex_);
    now_ = now;
    set_at_ = now_on_network();
    publish();
    show_status();
  }

  void advance(nanoseconds span) {
    const std::lock_guard lock(mutex_);
    // Extensions are on their way before the time is there at which they are needed.
    if (!paused_) extend_all(now_on_network() + span);
    ahead_->fetch_add(span.count());
    publish();
    if (paused_) return;
    let_go_of_old();
    show_status();
    for (Caller& caller : callers_)  // whoever waits until a time looks at the clock again
      if (caller.same_clock) send(caller, ipc::done_line());
  }

  void refuse(ErrorCode code, const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    refusal_.reset();
    if (!sentence.empty())
      refusal_ = ipc::Refusal{
          .code = code == ErrorCode::not_allowed ? ipc::Code::not_allowed : ipc::Code::unavailable,
          .sentence = sentence};
  }

  // What the test says of locks and groups, and asks.
  template <class Do>
  auto with_locks(Do todo) {
    const std::lock_guard lock(mutex_);
    return todo(locks_);
  }
  template <class Do>
  auto with_groups(Do todo) {
    const std::lock_guard lock(mutex_);
    return todo(groups_);
  }

  void pause(bool on) {
    const std::lock_guard lock(mutex_);
    paused_ = on;
    if (on) return;
    let_go_of_old();
    extend_all(now_on_network());
    wake();
  }
  void restart() {
    const std::lock_guard lock(mutex_);
    for (Caller& caller : callers_) leave(caller, true);
    paused_ = false;
    wake();
  }
  void set_status(const Status& status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    show_status();
  }
  void notify(const Event& event) {
    const std::lock_guard lock(mutex_);
    const std::string line = ipc::event_line(
        {.name = event.name, .at_ns = event.at.time_since_epoch().count(), .text = event.text});
    for (Caller& caller : callers_)
      if (caller.watches) send(caller, line);
  }

 private:
  // --- the thread that plays tempod ---

  void listen() {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket();
    CHECK(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_, 64) == 0);
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }

  void wake() const { ::eventfd_write(bell_, 1); }

  void run() {
    std::vector<pollfd> ends;
    while (!stopping_) {
      ends.assign({{bell_, POLLIN, 0}, {listener_, POLLIN, 0}});
      {
        const std::lock_guard lock(mutex_);
        if (!paused_)
          for (const Caller& caller : callers_) ends.push_back({caller.socket, POLLIN, 0});
      }
      const auto tick = std::clamp<std::int64_t>(
          std::chrono::duration_cast<milliseconds>(lease_ / 4).count(), 1, 1000);
      ::poll(ends.data(), ends.size(), static_cast<int>(tick));
      eventfd_t rung = 0;
      ::eventfd_read(bell_, &rung);
      const std::lock_guard lock(mutex_);
      if (!paused_) serve();
    }
  }

  void serve() {
    for (int fresh = 0;
         (fresh = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
      if (callers_.size() < kMaxCallers)
        callers_.push_back({.socket = fresh});
      else
        ::close(fresh);
    }
    for (Caller& caller : callers_) receive(caller);
    for (auto caller = callers_.begin(); caller != callers_.end();) {
      const auto current = caller++;
      if (!current->gone) continue;
      leave(*current, false);
      ::close(current->socket);
      callers_.erase(current);
    }
    let_go_of_old();
    // Half of a lease is enough to be in time, and does not drown anybody in news.
    if (now_on_network() >= extended_at_ + lease_ / 4) extend_all(now_on_network());
  }

  void receive(Caller& caller) {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0;
         !caller.gone && (got = ::recv(caller.socket, buffer.data(), buffer.size(), 0)) != -1;) {
      if (got == 0) caller.gone = true;
      caller.input.append(buffer.data(), static_cast<std::size_t>(got));
      for (std::size_t end = 0; (end = caller.input.find('\n')) != std::string::npos;) {
        const std::string line = caller.input.substr(0, end);
        caller.input.erase(0, end + 1);
        const auto request = ipc::parse_request(line);
        if (request)
          answer(caller, *request);
        else
          send(caller, ipc::refusal_line(request.error()));
      }
      if (caller.input.size() > ipc::kMaxRequest) caller.gone = true;
    }
    if (!caller.gone && errno != EAGAIN && errno != EINTR) caller.gone = true;
  }

  void answer(Caller& caller, const ipc::Request& request) {
    switch (request.verb) {
      case ipc::Verb::lock:
        if (!refuses(caller, request)) locks_.lock(&caller, request);
        return;
      case ipc::Verb::unlock:
        return locks_.unlock(&caller, request.id);
      case ipc::Verb::now:
        return send(caller, ipc::now_line(ipc_now_of(network_time())));
      case ipc::Verb::status:
        return send(caller, status_line());
      case ipc::Verb::watch:
      case ipc::Verb::events:
        caller.watches = true;
        send(caller, ipc::done_line());
        return send(caller, status_line());
      default:
        if (request.verb == ipc::Verb::elect && refuses(caller, request)) return;
        if (const std::string line = groups_.answer(&caller, request); !line.empty())
          send(caller, line);
    }
  }

  bool refuses(Caller& caller, const ipc::Request& request) const {
    if (!refusal_) return false;
    ipc::Refusal refusal = *refusal_;
    refusal.id = request.id;
    send(caller, ipc::refusal_line(refusal));
    return true;
  }

  void extend_all(nanoseconds now) {
    extended_at_ = now;
    groups_.extend_all(now);
    locks_.extend_all(now);
  }
  void let_go_of_old() {
    groups_.let_go_of_old();
    locks_.let_go_of_old();
  }

  // At tempod's own end what the caller has lasts until its deadline.
  void leave(Caller& caller, bool last) {
    groups_.leave(&caller, last ? FakeGroups::End::of_the_daemon : FakeGroups::End::of_the_caller);
    if (!last) return locks_.leave(&caller);
    locks_.outlive(&caller);
    ::shutdown(caller.socket, SHUT_RDWR);
    caller.gone = true;
  }

  // A program that does not read is not waited for.
  static void send(Caller& caller, const std::string& line) {
    const std::string text = line + '\n';
    if (::send(caller.socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(text.size()))
      caller.gone = true;
  }

  // A caller, as locks and groups know it; it is gone from there before it is gone.
  Caller& caller_of(const void* known) {
    return *std::ranges::find_if(callers_, [&](const Caller& one) { return &one == known; });
  }

  // --- time ---

  nanoseconds now_on_network() const { return clock_with(ahead_); }
  std::int64_t seen_by(const Caller& caller, nanoseconds network) const {
    return (caller.same_clock ? network : network - nanoseconds{ahead_->load()}).count();
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
  void show_status() {
    for (Caller& caller : callers_)
      if (caller.watches) send(caller, status_line());
  }

  const nanoseconds lease_;
  std::string directory_;
  std::optional<page::Writer> page_;
  int listener_ = -1;
  int bell_ = -1;  // wakes the thread
  std::atomic<bool> stopping_ = false;
  std::thread thread_;

  mutable std::mutex mutex_;   // of all that follows
  std::list<Caller> callers_;  // at most kMaxCallers of those that came by path
  FakeLocks locks_{{.lease = lease_,
                    .now = [this] { return now_on_network(); },
                    .notify =
                        [this](FakeLocks::Caller who, ipc::LockUpdate news) {
                          Caller& caller = caller_of(who);
                          if (news.until_ns != 0)
                            news.until_ns = seen_by(caller, nanoseconds{news.until_ns});
                          send(caller, ipc::lock_line(news));
                        }}};
  FakeGroups groups_{{.lease = lease_,
                      .now = [this] { return now_on_network(); },
                      .notify =
                          [this](FakeGroups::Caller who, ipc::LeadershipUpdate news) {
                            Caller& caller = caller_of(who);
                            news.until_ns = seen_by(caller, nanoseconds{news.until_ns});
                            send(caller, ipc::election_line(news));
                          },
                      .show =
                          [this](FakeGroups::Caller who, const ipc::GroupView& group) {
                            send(caller_of(who), ipc::group_line(group));
                          }}};
  std::optional<ipc::Refusal> refusal_;
  bool paused_ = false;
  Status status_;
  Now now_;
  nanoseconds set_at_{0};  // on the network's clock
  nanoseconds extended_at_{0};
  Ahead ahead_ = std::make_shared<std::atomic<std::int64_t>>(0);
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
FakeNetwork::FakeNetwork(const Options& options) : inside_(std::make_unique<Inside>(options)) {}
FakeNetwork::~FakeNetwork() = default;

Expected<Locks, Error> FakeNetwork::locks() const {
  return Locks(
      std::make_shared<LockConnection>(client::Client::over(inside_->connect(), kPatience),
                                       [ahead = inside_->ahead()] { return clock_with(ahead); }));
}
Expected<Election, Error> FakeNetwork::stand(const std::string& group,
                                             const CandidateOptions& options) const {
  return Election::stand_on(std::make_unique<ElectionConnection>(
                                client::Client::over(inside_->connect(), kPatience),
                                [ahead = inside_->ahead()] { return clock_with(ahead); }),
                            group, options, kPatience);
}
Expected<Daemon, Error> FakeNetwork::daemon() const { return Daemon::connect(socket()); }
Expected<TimePage, std::string> FakeNetwork::page() const { return TimePage::open(page_path()); }
std::string FakeNetwork::socket() const { return inside_->socket(); }
std::string FakeNetwork::page_path() const { return inside_->page_path(); }

void FakeNetwork::set_now(const Now& now) { inside_->set_now(now); }
void FakeNetwork::advance(nanoseconds span) { inside_->advance(span); }
void FakeNetwork::take_elsewhere(const std::string& name, bool shared) {
  inside_->with_locks([&](FakeLocks& locks) { locks.take_elsewhere(name, shared); });
}
void FakeNetwork::free_elsewhere(const std::string& name) {
  inside_->with_locks([&](FakeLocks& locks) { locks.free_elsewhere(name); });
}
void FakeNetwork::lose(const std::string& name) {
  inside_->with_locks([&](FakeLocks& locks) { locks.lose(name); });
}
void FakeNetwork::refuse(ErrorCode code, const std::string& sentence) {
  inside_->refuse(code, sentence);
}
std::size_t FakeNetwork::holders(const std::string& name) const {
  return inside_->with_locks([&](const FakeLocks& locks) { return locks.count(name, true); });
}
std::size_t FakeNetwork::waiters(const std::string& name) const {
  return inside_->with_locks([&](const FakeLocks& locks) { return locks.count(name, false); });
}
void FakeNetwork::elect_elsewhere(const std::string& group, const std::string& host) {
  inside_->with_groups([&](FakeGroups& groups) { groups.elect_elsewhere(group, host); });
}
void FakeNetwork::elect_here(const std::string& group) {
  inside_->with_groups([&](FakeGroups& groups) { groups.elect_here(group); });
}
void FakeNetwork::lose_majority(const std::string& group) {
  inside_->with_groups([&](FakeGroups& groups) { groups.lose_majority(group); });
}
void FakeNetwork::finish_elsewhere(const std::string& group, const std::string& host) {
  inside_->with_groups([&](FakeGroups& groups) { groups.finish_elsewhere(group, host); });
}
bool FakeNetwork::leads(const std::string& group) const {
  return inside_->with_groups([&](const FakeGroups& groups) { return groups.leads(group); });
}
std::optional<std::int64_t> FakeNetwork::capacity(const std::string& group) const {
  return inside_->with_groups([&](const FakeGroups& groups) { return groups.capacity(group); });
}
void FakeNetwork::pause() { inside_->pause(true); }
void FakeNetwork::resume() { inside_->pause(false); }
void FakeNetwork::restart() { inside_->restart(); }
void FakeNetwork::set_status(const Status& status) { inside_->set_status(status); }
void FakeNetwork::notify(const Event& event) { inside_->notify(event); }

}  // namespace tempo
