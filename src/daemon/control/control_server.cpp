#include "daemon/control/control_server.h"

#include <algorithm>
#include <list>
#include <map>
#include <utility>
#include <variant>

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

// Every user of the host may connect. These limits ensure that one client cannot starve the others.
constexpr std::size_t kMaxClients = 512;
constexpr std::size_t kMaxClientsOfProcess = 128;
constexpr std::size_t kMaxUnprivilegedClients = 128;  // all clients that may only read
constexpr std::size_t kMaxLocks = 1024;               // per connection
constexpr int kMaxAcceptsAtOnce = 16;
constexpr int kMaxLinesAtOnce = 16;  // requests per client and turn...
constexpr Nanos kTurn{100us};        // ...which ends when it has lasted this long
constexpr Nanos kTurns{1ms};         // time for all clients before the network is served again
constexpr Nanos kSoon{100us};        // a free lease is granted within this time
constexpr mode_t kEverybody = 0666;  // read access for all; the credentials decide about the rest

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
      serve_clients();
      serve_streams();
    });
    worker_->locks().on_update([this](locks::ClientId client, const locks::LockUpdate& update) {
      notify_lock(client, update);
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
    bool ready = false;    // has input or can be written; served in this round
    bool hung_up = false;  // the peer has closed its end
    std::optional<ipc::Verb> stream;
    Instant next{};                 // watch: earliest time of the next snapshot
    std::uint64_t events_sent = 0;  // events: count of events sent
    bool waits_for_members = false;
    std::uint32_t reelect = 0;     // number of the request to the master it waits for; 0: none
    bool names_sent = false;       // trace: the names of the hosts were sent
    std::uint64_t trace_sent = 0;  // trace: count of lines sent
    std::map<std::int64_t, locks::ClientId> locks{};  // by the ids of the client
    bool notified = false;     // output was written in this round by an update
    std::uint64_t change = 0;  // forget, admit: number of the change it waits for; 0: none
  };
  using Place = std::list<ClientConnection>::iterator;
  struct Claim {
    ClientConnection* client = nullptr;
    std::int64_t id = 0;
  };

  void accept_clients() {
    for (int i = 0; i < kMaxAcceptsAtOnce; ++i) {
      std::optional<sys::Descriptor> socket = listener_.accept();
      if (!socket) return;
      ClientConnection client{sys::LineConnection(*std::move(socket))};
      identify(client);
      if (const std::string_view why = refusal_of(client); !why.empty()) {
        client.connection.write(
            ipc::refusal_line({.code = ipc::Code::unavailable, .message = std::string(why)}));
        continue;
      }
      clients_.push_back(std::move(client));
      const Place place = std::prev(clients_.end());
      worker_->loop().watch(place->connection.descriptor(), POLLIN, [place](short events) {
        place->ready = true;
        place->hung_up = (events & (POLLHUP | POLLERR)) != 0;
      });
    }
  }

  void identify(ClientConnection& client) const {
    const std::optional<sys::Credentials> peer = client.connection.peer();
    if (!peer) return;
    client.process = peer->process;
    client.may_change = peer->user == 0 || peer->user == ::geteuid() || peer->user == owner_;
    client.may_lock = client.may_change || client.connection.peer_in_group(::getegid());
  }

  // Empty: accepted.
  std::string_view refusal_of(const ClientConnection& client) const {
    if (clients_.size() >= kMaxClients)
      return "too many connections to tempod; close some and try again";
    const auto of_process =
        std::ranges::count(clients_, client.process, &ClientConnection::process);
    if (std::cmp_greater_equal(of_process, kMaxClientsOfProcess))
      return "too many connections of this process to tempod; close some and try again";
    if (client.may_lock) return "";
    if (std::cmp_greater_equal(std::ranges::count(clients_, false, &ClientConnection::may_lock),
                               kMaxUnprivilegedClients))
      return "too many connections of users outside tempod's group; close some and try again";
    return "";
  }

  // A client loses its locks with its connection.
  void disconnect(Place client) {
    end_stream(*client);
    const auto all = std::exchange(client->locks, {});
    for (const auto& [id, holder] : all) claims_.erase(holder);
    for (const auto& [id, holder] : all) worker_->locks().release(holder);
    groups_.disconnect(&*client);
    worker_->loop().forget(client->connection.descriptor());
    clients_.erase(client);
  }

  // Clients that may lock are served before those that may only read, each in turn: a served client
  // moves to the end of the list. A client without a turn stays ready for the next round.
  void serve_clients() {
    const Instant until = worker_->now() + kTurns;
    for (const bool may_lock : {true, false}) {
      Place client = clients_.begin();
      for (std::size_t left = clients_.size(); left > 0; --left) {
        const Place current = client++;
        if (!current->ready || current->may_lock != may_lock) continue;
        if (worker_->now() >= until) return;
        current->ready = false;
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

  // Disconnects a client that is gone or does not read; else sets the events to poll for.
  void settle(Place client) {
    sys::LineConnection& connection = client->connection;
    if (connection.too_long())
      connection.write_final(ipc::refusal_line(
          {.code = ipc::Code::bad_request,
           .message = fmt::format(
               "a request has at most {} bytes; this one is longer, so the connection is closed",
               ipc::kMaxRequest)}));
    const bool waits_for_reply =
        !client->hung_up &&
        (connection.queued() > 0 || client->waits_for_members || client->reelect != 0);
    if (connection.broken() || (connection.finished() && !waits_for_reply))
      disconnect(client);
    else
      worker_->loop().expect(connection.descriptor(), connection.events());
  }

  // Returns the reply; empty: it follows later.
  std::string answer(ClientConnection& client, const ipc::Request& request) {
    if (ipc::changes(request.verb) && !client.may_change)
      return ipc::refusal_line(
          {.code = ipc::Code::not_allowed,
           .message = fmt::format("permission denied: this requires root; run 'sudo tempo {}'",
                                  ipc::name_of(request.verb))});
    if ((ipc::locks(request.verb) || ipc::votes(request.verb) || ipc::elects(request.verb)) &&
        !client.may_lock)
      return ipc::refusal_line(
          {.code = ipc::Code::not_allowed,
           .message =
               "permission denied: locks and groups require root or membership of tempod's group; "
               "add a user with 'usermod -aG tempo USER'",
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
        return reelect(client);
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
        const auto change =
            worker_->locks().change_voters(request.host, request.verb == ipc::Verb::admit);
        if (!change) return done(std::unexpected(change.error()), ipc::Code::unavailable);
        client.change = *change;
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
    return ipc::refusal_line({.code = ipc::Code::unknown_verb, .message = "unknown verb"});
  }

  // --- reelect ---

  std::string reelect(ClientConnection& client) {
    if (client.reelect != 0)
      return ipc::refusal_line({.code = ipc::Code::bad_request,
                                .message = "this connection already waits for the answer to a "
                                           "reelect; wait for it"});
    const auto asked = worker_->reelect();
    if (const auto* result = std::get_if<Worker::ReelectResult>(&asked)) return line_of(*result);
    client.reelect = std::get<std::uint32_t>(asked);
    return "";
  }

  static std::string line_of(const Worker::ReelectResult& result) {
    return result ? ipc::reelected_line(*result) : ipc::refusal_line(result.error());
  }

  bool answer_for_reelect(ClientConnection& client) {
    if (client.reelect == 0) return false;
    const auto result = worker_->reelect_result(client.reelect);
    if (!result) return false;
    client.reelect = 0;
    client.connection.write(line_of(*result));
    return true;
  }

  // --- locks ---

  std::string lock(ClientConnection& client, const ipc::Request& request) {
    const auto refuse = [&](ipc::Code code, std::string sentence) {
      return ipc::refusal_line({.code = code, .message = std::move(sentence), .id = request.id});
    };
    if (client.locks.contains(request.id))
      return refuse(ipc::Code::bad_request,
                    "this connection already has a lock with that id; use another id");
    if (client.locks.size() >= kMaxLocks)
      return refuse(ipc::Code::unavailable,
                    "too many locks on this connection; release some or open another connection");
    if (request.name.starts_with('@'))
      return refuse(ipc::Code::bad_request,
                    "names that begin with '@' are reserved; use another name");
    const locks::ClientId holder{++last_client_ & ~locks::kGroupBit};
    client.locks[request.id] = holder;
    claims_[holder] = {.client = &client, .id = request.id};
    const auto queued = worker_->locks().acquire(
        {.client = holder,
         .name = request.name,
         .mode = request.shared ? locks::Mode::shared : locks::Mode::exclusive,
         .kind = static_cast<locks::LockKind>(request.kind),
         .network_us = static_cast<std::uint64_t>(
             std::max<std::int64_t>(worker_->reading().time.time_since_epoch().count() / 1000, 0)),
         .lease = Nanos{request.lease_ns}});
    if (queued) {
      // Only for a client that is alone with its locks: where several wait, other processes can use
      // the CPU.
      if (request.kind == ipc::LockKind::lease && worker_->locks().answers_quickly() &&
          claims_.size() == client.locks.size())
        worker_->loop().stay_awake(kSoon);
      return "";
    }
    claims_.erase(holder);
    client.locks.erase(request.id);
    return refuse(ipc::Code::unavailable, queued.error());
  }

  std::string unlock(ClientConnection& client, const ipc::Request& request) {
    const auto found = client.locks.find(request.id);
    if (found == client.locks.end())
      return ipc::refusal_line({.code = ipc::Code::bad_request,
                                .message = "this connection has no lock with that id",
                                .id = request.id});
    const locks::ClientId holder = found->second;
    client.locks.erase(found);
    claims_.erase(holder);
    worker_->locks().release(holder);
    return ipc::lock_line({.id = request.id, .state = ipc::LockUpdate::State::released});
  }

  // May be called while another client is served; broken connections are closed at the end of the
  // round.
  void notify_lock(locks::ClientId client, const locks::LockUpdate& update) {
    const auto found = claims_.find(client);
    if (found == claims_.end()) return;
    const Claim claim = found->second;
    ipc::LockUpdate message{.id = claim.id};
    switch (update.kind) {
      case locks::LockUpdate::Kind::granted:
        message.token = std::to_underlying(update.token);
        [[fallthrough]];
      case locks::LockUpdate::Kind::extended:
        message.state = update.kind == locks::LockUpdate::Kind::granted
                            ? ipc::LockUpdate::State::granted
                            : ipc::LockUpdate::State::extended;
        message.until_ns = update.deadline.time_since_epoch().count();
        break;
      case locks::LockUpdate::Kind::lost:
      case locks::LockUpdate::Kind::refused:
        message.state = update.kind == locks::LockUpdate::Kind::lost
                            ? ipc::LockUpdate::State::lost
                            : ipc::LockUpdate::State::refused;
        claims_.erase(found);
        claim.client->locks.erase(claim.id);
        break;
    }
    claim.client->connection.write(
        update.sentence.empty()
            ? ipc::lock_line(message)
            : ipc::refusal_line(
                  {.code = ipc::Code::unavailable, .message = update.sentence, .id = claim.id}));
    claim.client->notified = true;
  }

  // May be called while another client is served, too.
  void write_to(GroupClients::ClientConnection id, const std::string& line) {
    const auto client = std::ranges::find_if(clients_, [&](const ClientConnection& one) {
      return static_cast<const void*>(&one) == id;
    });
    if (client == clients_.end()) return;
    client->connection.write(line);
    client->notified = true;
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
        const auto peer =
            claim == claims_.end() ? std::nullopt : claim->second.client->connection.peer();
        view.clients.push_back({.pid = peer ? static_cast<std::uint32_t>(peer->process) : 0,
                                .shared = client.mode == locks::Mode::shared,
                                .inside = client.inside,
                                .since_s = seconds(now - client.since),
                                .token = std::to_underlying(client.token)});
      }
    }
    return views;
  }

  // One stream per connection: a new one replaces the old one.
  void begin_stream(ClientConnection& client, ipc::Verb verb) {
    end_stream(client);
    client.stream = verb;
    client.events_sent = worker_->events_so_far();
    if (verb != ipc::Verb::trace_follow) return;
    worker_->trace().follow(worker_->now());
    client.names_sent = false;
    client.trace_sent = 0;
  }
  void end_stream(ClientConnection& client) {
    if (client.stream == ipc::Verb::trace_follow) worker_->trace().unfollow();
    client.stream.reset();
  }

  static std::string done(const Result<void>& result, ipc::Code code) {
    return result ? ipc::done_line() : ipc::refusal_line({.code = code, .message = result.error()});
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
      wrote |= std::exchange(current->notified, false);
      wrote |= answer_for_change(*current);
      wrote |= answer_for_reelect(*current);
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
        wrote |= send_events(*current);
      else
        wrote |= send_trace(*current);
      if (wrote) settle(current);
    }
  }

  bool answer_for_members(ClientConnection& client) {
    if (!client.waits_for_members || !worker_->members_answered()) return false;
    client.waits_for_members = false;
    client.connection.write(
        ipc::findings_line(findings_in(worker_->snapshot()), worker_->member_findings()));
    return true;
  }

  bool answer_for_change(ClientConnection& client) {
    if (client.change == 0) return false;
    const auto ended = worker_->locks().change_result(client.change);
    if (!ended) return false;
    client.change = 0;
    client.connection.write(done(*ended, ipc::Code::unavailable));
    return true;
  }

  bool send_events(ClientConnection& client) {
    const std::uint64_t so_far = worker_->events_so_far();
    const auto& events = worker_->events();
    const std::uint64_t kept = so_far - events.size();
    bool wrote = false;
    for (client.events_sent = std::max(client.events_sent, kept); client.events_sent < so_far;
         ++client.events_sent) {
      const Event& event = events[client.events_sent - kept];
      client.connection.write(
          ipc::event_line({.name = event.what, .at_ns = event.at_ns, .text = event.details}));
      wrote = true;
    }
    return wrote;
  }

  bool send_trace(ClientConnection& client) {
    bool wrote = false;
    if (!std::exchange(client.names_sent, true)) {
      for (const std::string& name : worker_->trace().names())
        client.connection.write(ipc::trace_line(name));
      wrote = true;
    }
    worker_->trace().since(client.trace_sent, [&](const std::string& line) {
      client.connection.write(ipc::trace_line(line));
      wrote = true;
    });
    client.trace_sent = worker_->trace().so_far();
    return wrote;
  }

  Worker* worker_;
  sys::UnixListener listener_;
  std::list<ClientConnection> clients_;
  std::map<locks::ClientId, Claim> claims_;  // by lock client
  std::uint32_t last_client_ = 0;
  GroupClients groups_;
  uid_t owner_ = ::getuid();  // user who started the daemon, before it changed its user
};

ControlServer::ControlServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlServer::ControlServer(ControlServer&&) noexcept = default;
ControlServer::~ControlServer() = default;

Result<ControlServer> ControlServer::open(Worker& worker, const std::string& path) {
  TRY(listener, sys::UnixListener::open(path, kEverybody));
  return ControlServer(std::make_unique<Impl>(worker, std::move(listener)));
}

}  // namespace tempo::daemon
