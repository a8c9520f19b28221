#include "daemon/control/control_server.h"

#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "api/control_protocol.h"
#include "daemon/control/findings.h"
#include "daemon/control/group_clients.h"
#include "daemon/log.h"
#include "daemon/worker.h"
#include "platform/clocks/boot_clock.h"
#include "platform/unix_socket.h"

namespace tempo::daemon {
namespace {

// Everybody on the host may connect; nobody may keep others from it.
constexpr std::size_t kMaxCallers = 512;
constexpr std::size_t kMaxOfOneProcess = 128;
constexpr std::size_t kMaxUnprivilegedClients = 128;  // who may only look, all together
constexpr std::size_t kMaxLocks = 1024;               // of one caller
constexpr int kMaxLetInAtOnce = 16;
constexpr int kMaxLinesAtOnce = 16;  // of one caller, in one turn...
constexpr Nanos kTurn{100us};        // ...which ends after the line that makes it longer
constexpr Nanos kTurns{1ms};         // of all callers, before the network has its own
constexpr Nanos kSoon{100us};        // a lease that nobody has is granted within
constexpr mode_t kEverybody = 0666;  // may look; what more one may do is by who one is

}  // namespace

class ControlServer::Impl {
 public:
  Impl(Worker& worker, sys::UnixListener listener)
      : worker_(&worker),
        listener_(std::move(listener)),
        groups_(
            worker.groups(),
            [this](GroupClients::ClientConnection client, const std::string& line) {
              write_to(client, line);
            },
            [this](HostId host) { return worker_->name_of(host); }) {
    worker_->loop().watch(listener_.descriptor(), POLLIN, [this](short) { accept_clients(); });
    worker_->each_round([this] {
      serve_callers();
      serve_streams();
    });
    worker_->locks().on_update([this](locks::ClientId client, const locks::LockUpdate& news) {
      notify_lock(client, news);
    });
  }
  ~Impl() {
    worker_->each_round({});
    worker_->locks().on_update({});
    for (const ClientConnection& client : clients_)
      worker_->loop().forget(client.connection.descriptor());
    worker_->loop().forget(listener_.descriptor());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  struct ClientConnection {
    explicit ClientConnection(sys::LineConnection socket) : connection(std::move(socket)) {}
    sys::LineConnection connection;
    pid_t process = 0;
    bool may_change = false;
    bool may_lock = false;
    bool calls = false;  // it is to be served in this round
    bool gone = false;   // nobody reads at the other end any more
    std::optional<ipc::Verb> stream;
    Instant next{};          // watch: when the next snapshot may go
    std::uint64_t told = 0;  // events: how many have been told
    bool waits_for_members = false;
    bool headed = false;                              // trace: it has been told who is who
    std::uint64_t traced = 0;                         // trace: how many lines have been told
    std::map<std::int64_t, locks::ClientId> locks{};  // by its own numbers
    bool was_told = false;                            // of locks, in this round
    std::uint64_t change = 0;                         // forget, admit: it waits for this one's end
  };
  using Place = std::list<ClientConnection>::iterator;
  struct Claim {
    ClientConnection* client = nullptr;
    std::int64_t id = 0;
  };

  void accept_clients() {
    for (int i = 0; i < kMaxLetInAtOnce; ++i) {
      std::optional<sys::Descriptor> socket = listener_.accept();
      if (!socket) return;
      ClientConnection newcomer{sys::LineConnection(*std::move(socket))};
      identify(newcomer);
      if (const std::string_view why = why_not(newcomer); !why.empty()) {
        newcomer.connection.write(
            ipc::refusal_line({.code = ipc::Code::unavailable, .sentence = std::string(why)}));
        continue;
      }
      clients_.push_back(std::move(newcomer));
      const Place client = std::prev(clients_.end());
      worker_->loop().watch(client->connection.descriptor(), POLLIN, [client](short events) {
        client->calls = true;
        client->gone = (events & (POLLHUP | POLLERR)) != 0;
      });
    }
  }

  void identify(ClientConnection& client) const {
    const std::optional<sys::Credentials> who = client.connection.peer();
    if (!who) return;
    client.process = who->process;
    client.may_change = who->user == 0 || who->user == ::geteuid() || who->user == owner_;
    client.may_lock = client.may_change || client.connection.peer_in_group(::getegid());
  }

  // Empty: it may come in.
  std::string_view why_not(const ClientConnection& newcomer) const {
    if (clients_.size() >= kMaxCallers)
      return "too many programs talk to tempod; close some and try again";
    const auto of_process =
        std::ranges::count(clients_, newcomer.process, &ClientConnection::process);
    if (std::cmp_greater_equal(of_process, kMaxOfOneProcess))
      return "this program has too many connections to tempod; close some and try again";
    if (newcomer.may_lock) return "";
    if (std::cmp_greater_equal(std::ranges::count(clients_, false, &ClientConnection::may_lock),
                               kMaxUnprivilegedClients))
      return "too many programs of users outside tempod's group talk to it; close some and try "
             "again";
    return "";
  }

  // With its connection a caller loses its locks.
  void disconnect(Place client) {
    end_stream(*client);
    const auto all = std::exchange(client->locks, {});
    for (const auto& [id, holder] : all) claims_.erase(holder);
    for (const auto& [id, holder] : all) worker_->locks().release(holder);
    groups_.disconnect(&*client);
    worker_->loop().forget(client->connection.descriptor());
    clients_.erase(client);
  }

  // Those who may lock before those who may only look, and each in its turn: who was served goes to
  // the end of the row. Who has no turn now calls again in the next round.
  void serve_callers() {
    const Instant until = worker_->now() + kTurns;
    for (const bool may_lock : {true, false}) {
      Place client = clients_.begin();
      for (std::size_t left = clients_.size(); left > 0; --left) {
        const Place current = client++;
        if (!current->calls || current->may_lock != may_lock) continue;
        if (worker_->now() >= until) return;
        current->calls = false;
        clients_.splice(clients_.end(), clients_, current);
        receive(current);
      }
    }
  }

  void receive(Place client) {
    client->connection.flush();
    const Instant until = worker_->now() + kTurn;
    for (int i = 0; i < kMaxLinesAtOnce && client->connection.queued() == 0; ++i) {
      const std::optional<std::string> line = client->connection.line();
      if (!line) break;
      const auto request = ipc::parse_request(*line);
      const std::string reply =
          request ? answer(*client, *request) : ipc::refusal_line(request.error());
      if (!reply.empty()) client->connection.write(reply);
      if (worker_->now() >= until) break;
    }
    settle(client);
  }

  // Shows out who is gone or does not read; else waits for what is to be waited for.
  void settle(Place client) {
    sys::LineConnection& connection = client->connection;
    if (connection.too_long())
      connection.write_final(ipc::refusal_line(
          {.code = ipc::Code::bad_request,
           .sentence = fmt::format("a request has at most {} bytes and this one does not end; the "
                                   "connection is closed",
                                   ipc::kMaxRequest)}));
    const bool awaited = !client->gone && (connection.queued() > 0 || client->waits_for_members);
    if (connection.broken() || (connection.finished() && !awaited))
      disconnect(client);
    else
      worker_->loop().expect(connection.descriptor(), connection.events());
  }

  // Empty: it comes later.
  std::string answer(ClientConnection& client, const ipc::Request& request) {
    if (ipc::changes(request.verb) && !client.may_change)
      return ipc::refusal_line({.code = ipc::Code::not_allowed,
                                .sentence = fmt::format("only root may do that; 'sudo tempo {}'",
                                                        ipc::name_of(request.verb))});
    if ((ipc::locks(request.verb) || ipc::votes(request.verb) || ipc::elects(request.verb)) &&
        !client.may_lock)
      return ipc::refusal_line(
          {.code = ipc::Code::not_allowed,
           .sentence =
               "locks and groups are for root and for tempod's own group; 'usermod -aG tempo USER' "
               "makes one a member of it",
           .id = ipc::votes(request.verb) ? std::nullopt : std::optional(request.id)});
    switch (request.verb) {
      case ipc::Verb::status:
        return ipc::status_line(obs::to_json(worker_->snapshot()));
      case ipc::Verb::members:
        return ipc::members_line(obs::members_json(worker_->snapshot()));
      case ipc::Verb::now:
        return now_answer();
      case ipc::Verb::watch:
      case ipc::Verb::events:
      case ipc::Verb::trace_follow:
        begin_stream(client, request.verb);
        return ipc::done_line();
      case ipc::Verb::reelect:
        return done(worker_->reelect(), ipc::Code::not_master);
      case ipc::Verb::resign:
        return done(worker_->resign(), ipc::Code::not_master);
      case ipc::Verb::set_time: {
        const Nanos by = request.by_ns ? Nanos{*request.by_ns}
                                       : WallTime{Nanos{*request.to_ns}} - worker_->reading().time;
        return done(worker_->set_time(by), ipc::Code::unavailable);
      }
      case ipc::Verb::trace:
        worker_->trace().keep(worker_->now(), request.on);
        return ipc::done_line();
      case ipc::Verb::doctor:
        if (!request.all) return ipc::findings_line(findings_in(worker_->snapshot()));
        worker_->ask_members();
        client.waits_for_members = true;
        return "";
      case ipc::Verb::lock:
        return lock(client, request);
      case ipc::Verb::unlock:
        return unlock(client, request);
      case ipc::Verb::locks:
        return ipc::locks_line(worker_->lock_status(), lock_views());
      case ipc::Verb::forget:
      case ipc::Verb::admit: {
        const auto begun =
            worker_->locks().change_voters(request.host, request.verb == ipc::Verb::admit);
        if (!begun) return done(std::unexpected(begun.error()), ipc::Code::unavailable);
        client.change = *begun;
        return "";
      }
      case ipc::Verb::elect:
      case ipc::Verb::offer:
      case ipc::Verb::stopped:
      case ipc::Verb::withdraw:
      case ipc::Verb::resign_group:
      case ipc::Verb::groups:
      case ipc::Verb::watch_group:
        return groups_.answer(&client, request);
      case ipc::Verb::count:
        break;
    }
    return ipc::refusal_line({.code = ipc::Code::unknown_verb, .sentence = "unknown verb"});
  }

  // --- locks ---

  std::string lock(ClientConnection& client, const ipc::Request& request) {
    const auto refuse = [&](ipc::Code code, std::string sentence) {
      return ipc::refusal_line({.code = code, .sentence = std::move(sentence), .id = request.id});
    };
    if (client.locks.contains(request.id))
      return refuse(ipc::Code::bad_request, "this connection has a lock of that id; take another");
    if (client.locks.size() >= kMaxLocks)
      return refuse(ipc::Code::unavailable,
                    "this connection has too many locks; release some, or open another");
    if (request.name.starts_with('@'))
      return refuse(ipc::Code::bad_request,
                    "names that begin with '@' are tempo's own; take another");
    const locks::ClientId holder{++last_client_ & ~locks::kGroupBit};
    client.locks[request.id] = holder;
    claims_[holder] = {.client = &client, .id = request.id};
    const auto wanted = worker_->locks().acquire(
        {.client = holder,
         .name = request.name,
         .mode = request.shared ? locks::Mode::shared : locks::Mode::exclusive,
         .network_us = static_cast<std::uint64_t>(
             std::max<std::int64_t>(worker_->reading().time.time_since_epoch().count() / 1000, 0)),
         .lease = Nanos{request.lease_ns}},
        static_cast<locks::LockKind>(request.kind));
    if (wanted) {
      // Only for a program that is alone with its locks: where several wait, others can use the
      // processor.
      if (request.kind == ipc::LockKind::lease && worker_->locks().answers_soon() &&
          claims_.size() == client.locks.size())
        worker_->loop().stay_awake(kSoon);
      return "";
    }
    claims_.erase(holder);
    client.locks.erase(request.id);
    return refuse(ipc::Code::unavailable, wanted.error());
  }

  std::string unlock(ClientConnection& client, const ipc::Request& request) {
    const auto found = client.locks.find(request.id);
    if (found == client.locks.end())
      return ipc::refusal_line({.code = ipc::Code::bad_request,
                                .sentence = "this connection has no lock of that id",
                                .id = request.id});
    const locks::ClientId holder = found->second;
    client.locks.erase(found);
    claims_.erase(holder);
    worker_->locks().release(holder);
    return ipc::lock_line({.id = request.id, .state = ipc::LockUpdate::State::released});
  }

  // It may come while another caller is served: who is to be shown out is at the round's end.
  void notify_lock(locks::ClientId client, const locks::LockUpdate& news) {
    const auto found = claims_.find(client);
    if (found == claims_.end()) return;
    const Claim claim = found->second;
    ipc::LockUpdate told{.id = claim.id};
    switch (news.kind) {
      case locks::LockUpdate::Kind::granted:
        told.token = std::to_underlying(news.token);
        [[fallthrough]];
      case locks::LockUpdate::Kind::extended:
        told.state = news.kind == locks::LockUpdate::Kind::granted
                         ? ipc::LockUpdate::State::granted
                         : ipc::LockUpdate::State::extended;
        told.until_ns = news.deadline.time_since_epoch().count();
        break;
      case locks::LockUpdate::Kind::lost:
      case locks::LockUpdate::Kind::refused:
        told.state = news.kind == locks::LockUpdate::Kind::lost ? ipc::LockUpdate::State::lost
                                                                : ipc::LockUpdate::State::refused;
        claims_.erase(found);
        claim.client->locks.erase(claim.id);
        break;
    }
    claim.client->connection.write(
        news.sentence.empty()
            ? ipc::lock_line(told)
            : ipc::refusal_line(
                  {.code = ipc::Code::unavailable, .sentence = news.sentence, .id = claim.id}));
    claim.client->was_told = true;
  }

  // It may come while another caller is served, too.
  void write_to(GroupClients::ClientConnection whose, const std::string& line) {
    const auto client = std::ranges::find_if(clients_, [&](const ClientConnection& one) {
      return static_cast<const void*>(&one) == whose;
    });
    if (client == clients_.end()) return;
    client->connection.write(line);
    client->was_told = true;
  }

  std::vector<ipc::LockView> lock_views() {
    std::vector<ipc::LockView> views;
    const Instant now = sys::boot_clock();
    const auto seconds = [](Nanos span) { return std::chrono::duration<double>(span).count(); };
    for (const locks::Known& known : worker_->locks().known()) {
      ipc::LockView& view = views.emplace_back();
      view.name = known.name;
      view.kind = static_cast<ipc::LockKind>(known.kind);
      view.shared = known.mode == locks::Mode::shared;
      view.holder = worker_->name_of(known.holder);
      view.here = known.held_here;
      view.left_s = known.holder == kNoHost ? 0 : seconds(known.until - now);
      const std::int64_t network_ns = worker_->reading().time.time_since_epoch().count();
      for (const locks::Known::Waiter& waiter : known.elsewhere)
        view.elsewhere.push_back(
            {.host = worker_->name_of(waiter.host),
             .shared = waiter.mode == locks::Mode::shared,
             .since_s = std::max(
                 seconds(Nanos{network_ns} - std::chrono::microseconds(waiter.ticket)), 0.0)});
      for (const locks::Known::Client& client : known.clients) {
        const auto claim = claims_.find(client.id);
        const auto who =
            claim == claims_.end() ? std::nullopt : claim->second.client->connection.peer();
        view.clients.push_back({.pid = who ? static_cast<std::uint32_t>(who->process) : 0,
                                .shared = client.mode == locks::Mode::shared,
                                .inside = client.inside,
                                .since_s = seconds(now - client.since),
                                .token = std::to_underlying(client.token)});
      }
    }
    return views;
  }

  // One stream on a connection: another takes the place of the first.
  void begin_stream(ClientConnection& client, ipc::Verb verb) {
    end_stream(client);
    client.stream = verb;
    client.told = worker_->events_so_far();
    if (verb != ipc::Verb::trace_follow) return;
    worker_->trace().follow(worker_->now());
    client.headed = false;
    client.traced = 0;
  }
  void end_stream(ClientConnection& client) {
    if (client.stream == ipc::Verb::trace_follow) worker_->trace().unfollow();
    client.stream.reset();
  }

  static std::string done(const Result<void>& result, ipc::Code code) {
    return result ? ipc::done_line()
                  : ipc::refusal_line({.code = code, .sentence = result.error()});
  }

  std::string now_answer() {
    const node::Reading reading = worker_->reading();
    return ipc::now_line({.time_ns = reading.time.time_since_epoch().count(),
                          .earliest_ns = reading.earliest.time_since_epoch().count(),
                          .latest_ns = reading.latest.time_since_epoch().count(),
                          .status = std::string(node::name_of(reading.status))});
  }

  void serve_streams() {
    const Instant now = worker_->now();
    for (Place client = clients_.begin(); client != clients_.end();) {
      const Place current = client++;
      bool wrote = answer_for_members(*current);
      wrote |= std::exchange(current->was_told, false);
      wrote |= answer_for_change(*current);
      if (!current->stream) {
        if (wrote) settle(current);
        continue;
      }
      if (*current->stream == ipc::Verb::watch && now >= current->next) {
        current->next = now + 1s / ipc::kMaxStatusesPerSecond;
        current->connection.write(ipc::status_line(obs::to_json(worker_->snapshot())));
        wrote = true;
      }
      if (*current->stream != ipc::Verb::trace_follow)
        wrote |= tell_events(*current);
      else
        wrote |= tell_trace(*current);
      if (wrote) settle(current);
    }
  }

  bool answer_for_members(ClientConnection& client) {
    if (!client.waits_for_members || !worker_->members_answered()) return false;
    client.waits_for_members = false;
    client.connection.write(
        ipc::findings_line(findings_in(worker_->snapshot()), worker_->what_members_find()));
    return true;
  }

  bool answer_for_change(ClientConnection& client) {
    if (client.change == 0) return false;
    const auto ended = worker_->locks().change_ended(client.change);
    if (!ended) return false;
    client.change = 0;
    client.connection.write(done(*ended, ipc::Code::unavailable));
    return true;
  }

  bool tell_events(ClientConnection& client) {
    const std::uint64_t so_far = worker_->events_so_far();
    const auto& events = worker_->events();
    const std::uint64_t kept = so_far - events.size();
    bool wrote = false;
    for (client.told = std::max(client.told, kept); client.told < so_far; ++client.told) {
      const Event& event = events[client.told - kept];
      client.connection.write(
          ipc::event_line({.name = event.what, .at_ns = event.at_ns, .text = event.details}));
      wrote = true;
    }
    return wrote;
  }

  bool tell_trace(ClientConnection& client) {
    bool wrote = false;
    if (!std::exchange(client.headed, true)) {
      for (const std::string& name : worker_->trace().names())
        client.connection.write(ipc::trace_line(name));
      wrote = true;
    }
    worker_->trace().since(client.traced, [&](const std::string& line) {
      client.connection.write(ipc::trace_line(line));
      wrote = true;
    });
    client.traced = worker_->trace().so_far();
    return wrote;
  }

  Worker* worker_;
  sys::UnixListener listener_;
  std::list<ClientConnection> clients_;
  std::map<locks::ClientId, Claim> claims_;  // of all callers
  std::uint32_t last_client_ = 0;
  GroupClients groups_;
  uid_t owner_ = ::getuid();  // who started the daemon, before it became another
};

ControlServer::ControlServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlServer::ControlServer(ControlServer&&) noexcept = default;
ControlServer::~ControlServer() = default;

Result<ControlServer> ControlServer::open(Worker& worker, const std::string& path) {
  TRY(listener, sys::UnixListener::open(path, kEverybody));
  return ControlServer(std::make_unique<Impl>(worker, std::move(listener)));
}

}  // namespace tempo::daemon
