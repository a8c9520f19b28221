#include "lab/studies/daemon/daemon_world.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/check.h"
#include "base/fnv.h"
#include "base/random.h"
#include "daemon/drivers/lock_record_file.h"
#include "lab/sim/partition.h"
#include "lab/sim/shrink.h"
#include "lab/sim/world.h"
#include "lab/studies/daemon/attacker.h"
#include "lab/studies/daemon/record_damage.h"
#include "lab/studies/daemon/wired_host.h"
#include "lab/studies/lock/ledger.h"

namespace tempo::sim::daemon {
namespace {

using election::Change;
using host::Host;
using locks::ClientId;
using locks::LockKind;
using locks::LockUpdate;
using locks::Mode;

constexpr std::size_t kMaxViolations = 8;
constexpr std::uint32_t kClocks = 21;     // index of the clocks' stream under Cause::plan
constexpr std::uint32_t kPower = 22;      // of what survives a power failure
constexpr std::uint32_t kAccidents = 24;  // of accidents of records
constexpr std::size_t kMaxCopies = 64;    // old records of a host
constexpr std::uint32_t kNonces = 200;    // of the first host's nonces; the others follow
constexpr WallTime kWallStart{1'700'000'000s};
constexpr Nanos kYoung = 15s;          // the rates of the clocks of a new network are not known yet
constexpr Nanos kTimeCheck = 20ms;     // between two checks of the bounds
constexpr Nanos kRound = 10ms;         // between two rounds of the attacker
constexpr Nanos kMaxStepError = 50ms;  // of a step to the master's time
constexpr Nanos kComesBack = 5ms;      // step of the times at which clients connect again
constexpr Nanos kLongestWait = 10s;    // for the entry into a lock for which clients wait
constexpr std::array kKinds{LockKind::lease, LockKind::lease, LockKind::silent,
                            LockKind::explicit_replies};
static_assert(kKinds.size() == kLocks);

HostId host_at(std::uint32_t number) { return HostId{std::uint64_t{number} << 44 | 1}; }
std::string lock_name(std::uint32_t lock) { return fmt::format("lock{}", lock); }
std::string group_name(std::uint32_t group) { return fmt::format("group{}", group); }

bool has_locks(const Disk<WiredHost>& disk) {
  return disk.file() == Disk<WiredHost>::File::good && disk.record().locks;
}
// The lock record before the present one; unset: there was none.
std::optional<locks::LockRecord> previous_locks(const Disk<WiredHost>& disk) {
  return disk.previous() ? disk.previous()->locks : std::nullopt;
}

class Cluster : public NoWatch {
 public:
  using Event = daemon::Event;
  using World = sim::World<WiredHost, Cluster>;

  explicit Cluster(const Setup& setup);
  Outcome run();

  // --- called by the World ---
  template <class W>
  void sent(const W& world, NodeId from, NodeId to, const WiredHost::Message& message,
            std::uint32_t /*number*/) {
    mix(static_cast<std::uint64_t>(world.now().time_since_epoch().count()));
    mix(index(from) << 16 ^ index(to) << 2);
    const auto& bytes = std::get<WiredHost::Bytes>(message);
    mix(fnv1a(bytes));
    if (setup_.scenario != Scenario::replay || injects_) return;
    attacker_.record(from, to, bytes);
    if (attack_ && from == attack_->target) attacker_.target_sent();
  }
  template <class W>
  void noticed(const W& /*world*/, NodeId id, const Host::Notice& notice) {
    mix(notice.index() + 77);
    std::visit([&](const auto& of_part) { on_notice(id, of_part); }, notice);
  }
  template <class W>
  void stepped(const W& /*world*/, NodeId id) {
    judge_step(id);
  }
  void happen(const Event& event);

 private:
  struct Client {
    enum class State : std::uint8_t { idle, waits, inside, stands };
    NodeId host{};
    State state = State::idle;
    std::uint32_t request = 0;  // counts its requests
    std::uint32_t lock = 0;     // lock or group
    std::uint32_t ledger = 0;   // of that lock, in the voting set of the host
    Mode mode = Mode::exclusive;
    Nanos span{0};                  // of its stay
    BootTime deadline{};            // of its host
    bool acts = false;              // stands: it leads
    bool orphan = false;            // the daemon that served it is dead
    bool returning = false;         // inside: its new daemon resumes the lock
    groups::Capacity capacity = 0;  // stands
    tempo::lock::Token token{};     // of its grant or its term
    HostId origin = kNoHost;        // of the same
    Instant since{};                // waits: when it asked
  };
  struct Machine {
    std::vector<Host::Command> inbox{};  // commands that wait for a paused daemon
    std::uint32_t boots = 0;             // of the host; names the kernel in its record
    bool sleeps = false;                 // suspended: the daemon restarts when it wakes
    Epoch highest{};                     // highest epoch followed in this incarnation
    std::optional<WallTime> shown{};     // last reading of the steered clock in this incarnation
    bool stepped = false;                // the clock was stepped in this step
    bool restored = false;               // it has an old copy of its record
    bool locks_lost = false;             // its lock record was lost, and not written since then
    std::vector<locks::LockRecord> copies{};  // durable earlier, for accidents
    Stream nonces{};                          // of nonces and secrets of its processes
  };

  // An attack on the start of a host. While it lasts, nothing else happens to the network, so
  // everything that changes is the effect of a replayed datagram.
  struct Attack {
    NodeId target = kNobody;
    NodeId master = kNobody;  // kNobody: all the other hosts are down
    std::vector<std::pair<std::uint32_t, std::uint32_t>> holders{};  // clients inside; requests

    bool alone() const { return master == kNobody; }
  };

  WiredHost make(NodeId id, Incarnation incarnation);
  const Host& host(NodeId id) const { return world_.machine(id).host(); }
  std::unique_ptr<wire::Codec> make_codec(NodeId id, Incarnation incarnation);
  // The host that this machine claims to be.
  NodeId identity(NodeId id) const { return index(id) == setup_.nodes ? cloned_ : id; }
  std::string place_of(NodeId id) const;
  void violated(std::string_view property, std::string text);
  void mix(std::uint64_t value) { outcome_.hash = (outcome_.hash ^ value) * 0x100000001b3ULL; }

  // Clients.
  std::uint32_t number_of(std::uint32_t which) const {
    return clients_[which].request * setup_.clients + which + 1;
  }
  void send(NodeId id, const Host::Command& command);
  void acquire(const Event& event);
  void stand(const Event& event);
  void send_stand(std::uint32_t which, const std::optional<groups::Lead>& lead);
  tempo::lock::lease::Session session_of(std::uint32_t which) const;
  void come_back(std::uint32_t which);
  void returned(std::uint32_t which, tempo::lock::Token token, BootTime deadline);
  void go_idle(std::uint32_t which);
  void end(std::uint32_t which, bool by_itself);
  void plan(Nanos after, Event event) { world_.plan(world_.now() + after, event); }
  void plan_deadline(std::uint32_t which);
  void test_deadline(std::uint32_t which);
  bool current(const Event& event) const { return clients_[event.which].request == event.turn; }

  // Notices.
  void on_notice(NodeId id, const node::Node::Notice& notice);
  void on_notice(NodeId id, const Host::Locks::Notice& notice);
  void on_notice(NodeId id, const Host::Groups::Notice& notice);
  static void on_notice(NodeId /*id*/, const Host::Views::Notice& /*notice*/) {}
  void on_update(NodeId id, const LockUpdate& update);
  void on_update(NodeId id, const groups::LeadershipUpdate& update);

  // Faults.
  void crash(NodeId id, bool power, bool loses_writes = false);
  void start(NodeId id);
  void resume(NodeId id);
  void resign(const Event& event);
  void accident(const Event& event);
  void damage_record(std::uint32_t which, Accident kind, Nanos restart);
  bool has_record(NodeId id) const;
  bool may_lose_record(NodeId id);
  void start_clone(const Event& event);
  std::uint32_t set_of(const Host& machine);
  void update_partition();
  void calm();
  void attack(const Event& event);
  void begin_attack(const Event& event);
  void replay();
  void end_attack();

  // Properties.
  void judge_step(NodeId id);
  void judge_attack(NodeId id, const node::Node::Notice& notice);
  void judge_time();
  NodeId sole_master();
  bool records_lost() const;
  void judge_clone();
  void judge_sets();
  void judge_end();

  Setup setup_;
  election::Rules rules_;
  auth::Keyring keys_;
  node::SyncRules sync_rules_;
  membership::Rules view_rules_ = membership::rules_for(membership::kLease);
  std::vector<Machine> machines_;
  std::vector<Client> clients_;
  std::vector<sim::lock::Ledger> ledgers_;  // by lock
  std::vector<Instant> entered_;            // by lock: last entry
  std::vector<tempo::lock::Token> terms_;   // by group: last term
  std::vector<std::uint32_t> parts_;        // by host: bit set of the hosts that do not hear it
  std::optional<std::uint32_t> cut_;        // the hosts of one side of a partition
  std::vector<HostId> voters_;              // the first voters; empty: none known
  std::vector<wire::SetId> sets_;           // all voting sets
  std::map<tempo::lock::Token, std::uint32_t> tokens_;  // granted, and the set; halves only
  NodeId cloned_ = kNobody;                             // the host with a clone
  Stream power_;
  Stream accidents_;
  Attacker attacker_;
  std::optional<Attack> attack_;
  bool injects_ = false;  // the attacker sends
  bool calm_ = false;
  bool judges_time_ = false;  // the plan breaks nothing that bounds assume
  Instant next_time_{};       // of the property one-time
  Outcome outcome_;
  World world_;
};

Link link_of(bool calm) {
  Link link{.delay = Delay::uniform(100us, 800us)};
  if (calm) return link;
  link.loss = 0.01;
  link.duplicate = 0.01;
  link.reorder = 0.01;
  link.lateness = Delay::uniform(0s, 3s);
  return link;
}

tempo::lock::lease::Rules lease_rules() {
  return {.lease = 2s, .longest = 2s, .drift = Ppb{1'000'000}, .suppress_replies = true};
}

Cluster::Cluster(const Setup& setup)
    : setup_(setup),
      rules_{.timing = *election::profile("lan")},
      machines_(setup.machines()),
      entered_(kLocks),
      terms_(kGroups, tempo::lock::kNoToken),
      parts_(setup.machines()),
      power_(setup.seed, std::to_underlying(Cause::plan), kPower),
      accidents_(setup.seed, std::to_underlying(Cause::plan), kAccidents),
      attacker_(setup.seed),
      world_(
          {.nodes = setup.machines(),
           .seed = setup.seed,
           .link = link_of(false),
           .write = Delay::uniform(200us, 20ms),
           .ignore_order = setup.ignore_order,
           .forget_persisted = setup.forget_persisted,
           .notify_twice = setup.notify_twice},
          [this](NodeId id, Incarnation incarnation) { return make(id, incarnation); }, *this) {
  if (setup.scenario == Scenario::replay) keys_ = auth::Keyring({auth::Key{}});
  CHECK(setup.nodes > 0 && setup.machines() <= kMaxHosts && setup.clients <= kMaxClients);
  sync_rules_.interval = rules_.timing.adjtime;
  std::vector<NodeId> sites;
  for (std::uint32_t i = 0; i < setup.clients; ++i) {
    clients_.push_back({.host = NodeId{i % setup.machines()}});
    sites.push_back(clients_.back().host);
  }
  const std::uint32_t sets = setup.scenario == Scenario::halves ? 2 : 1;
  for (std::uint32_t lock = 0; lock < kLocks * sets; ++lock)
    ledgers_.emplace_back(setup.machines(), sites);
  Stream clocks(setup.seed, std::to_underlying(Cause::plan), kClocks);
  for (std::uint32_t i = 0; i < setup.machines(); ++i) {
    machines_[i].nonces = Stream(setup.seed, std::to_underlying(Cause::plan), kNonces + i);
    world_.set_clock(
        NodeId{i},
        Oscillator(
            {.offset = 1 + clocks.unit(), .rate = (clocks.unit() * 2 - 1) * 50e-6, .wander = 1e-9},
            Stream(setup.seed, std::to_underlying(Cause::plan), 100 + i)));
    world_.set_boot_clock(NodeId{i}, Nanos{static_cast<std::int64_t>(clocks.unit() * 1e12)}, Ppb{});
  }
}

Outcome Cluster::run() {
  outcome_.plan = plan_of(setup_);
  judges_time_ =
      setup_.judges_time() && std::ranges::none_of(outcome_.plan, [](const PlannedEvent& planned) {
        return planned.event.kind == Event::Kind::rate;
      });
  for (std::uint32_t i = 0; i < outcome_.plan.size(); ++i)
    if (!setup_.keep || std::ranges::binary_search(*setup_.keep, i))
      world_.plan(outcome_.plan[i].at, outcome_.plan[i].event);
  world_.plan(Instant{} + setup_.faulty(), {.kind = Event::Kind::calm});
  for (std::uint32_t i = 0; i < setup_.nodes && setup_.scenario != Scenario::halves; ++i)
    start(NodeId{i});
  world_.run_until(Instant{} + setup_.end());
  if (world_.exhausted()) violated("no-storm", "too many messages; the run stopped");
  judge_end();
  outcome_.events = world_.events();
  outcome_.replayed = attacker_.replayed();
  outcome_.sets = sets_.size();
  for (const sim::lock::Ledger& ledger : ledgers_) outcome_.entries += ledger.tally().entries;
  return std::move(outcome_);
}

WiredHost Cluster::make(NodeId id, Incarnation incarnation) {
  const std::uint32_t i = index(id);
  Machine& machine = machines_[i];
  machine.highest = kNoEpoch;
  machine.shown.reset();
  const Instant now = world_.local_now(id);
  std::unique_ptr<wire::Codec> codec = make_codec(id, incarnation);
  const NodeId self = identity(id);
  node::Node node({.self = self, .incarnation = incarnation}, 1, rules_,
                  {.now = now, .shows = kWallStart + now.time_since_epoch()}, sync_rules_);
  const Disk<WiredHost>& disk = world_.disk(id);
  const std::string place = place_of(id);
  const bool read = disk.file() == Disk<WiredHost>::File::good;
  // The membership record is another file, which no accident of the lock record changes.
  host::Records saved = disk.record();
  const bool has_locks = read && saved.locks;
  const bool good = has_locks && locks::same_place(saved.locks->place, place);
  const bool own = self == id || !setup_.copy_shows;
  const bool damaged = disk.file() == Disk<WiredHost>::File::damaged;
  machine.locks_lost = damaged || (has_locks ? !good : read && machine.locks_lost);
  if (!good) saved.locks.reset();
  const std::string kernel = fmt::format("kernel {} of {}", machine.boots, i);
  Host::Locks locks({.self = host_at(index(self)),
                     .life = incarnation,
                     .hosts = &codec->directory(),
                     .expected = static_cast<std::uint8_t>(setup_.voters()),
                     .rules = lease_rules(),
                     .kernel = kernel,
                     .place = place,
                     .record = good ? saved.locks : std::nullopt,
                     .record_lost = machine.locks_lost,
                     .above = has_locks ? locks::highest_count(*disk.record().locks) : 0});
  Host::Views views({.record = own ? saved.membership : std::nullopt,
                     .fresh = membership::MemberId{(machine.nonces.next() >> 2) + 1},
                     .first = Sequence{static_cast<std::uint32_t>(machine.nonces.next())}},
                    view_rules_);
  groups::GroupService groups({.self = self,
                               .life = incarnation,
                               .hosts = &codec->directory(),
                               .rules = {.lease = lease_rules().lease}});
  return {std::move(codec),
          Host(std::move(node), std::move(views), std::move(locks), std::move(groups), saved)};
}

std::unique_ptr<wire::Codec> Cluster::make_codec(NodeId id, Incarnation incarnation) {
  Stream& nonces = machines_[index(id)].nonces;
  auth::Key secret{};
  for (std::byte& byte : secret) byte = static_cast<std::byte>(nonces.next());
  auto codec = std::make_unique<wire::Codec>(
      wire::Codec::Options{.self = host_at(index(identity(id))),
                           .incarnation = incarnation,
                           .nonce = wire::Nonce{nonces.next()},
                           .name = wire::Name(fmt::format("host{}", index(id) + 1)),
                           .cluster = "lab",
                           .keys = keys_,
                           .secret = secret,
                           .exchange_interval = rules_.timing.adjtime});
  CHECK(codec->self() == identity(id));
  return codec;
}

std::string Cluster::place_of(NodeId id) const {
  const NodeId machine = setup_.copy_shows ? id : identity(id);
  return fmt::format("b{} -", index(machine));
}

void Cluster::violated(std::string_view property, std::string text) {
  if (outcome_.violations.size() < kMaxViolations)
    outcome_.violations.push_back({std::string(property), world_.now(), std::move(text)});
}

// --- clients ---

// A paused daemon finds its clients' requests when it resumes; a dead one has no clients.
void Cluster::send(NodeId id, const Host::Command& command) {
  if (!world_.up(id)) return;
  if (world_.paused(id))
    machines_[index(id)].inbox.push_back(command);
  else
    world_.command(id, command);
}

void Cluster::acquire(const Event& event) {
  Client& client = clients_[event.which];
  if (client.state != Client::State::idle || !world_.up(client.host)) return;
  ++client.request;
  client.state = Client::State::waits;
  client.lock = event.lock;
  client.mode = event.number == 1 ? Mode::shared : Mode::exclusive;
  client.span = event.span;
  client.orphan = client.returning = false;
  client.since = world_.now();
  client.ledger = client.lock + kLocks * set_of(host(client.host));
  ledgers_[client.ledger].asked(event.which, world_.now());
  plan(20s, {.kind = Event::Kind::quit, .which = event.which, .turn = client.request});
  send(client.host, Host::Locks::Command{locks::Acquire{.client = ClientId{number_of(event.which)},
                                                        .name = lock_name(event.lock),
                                                        .mode = client.mode,
                                                        .kind = kKinds[event.lock],
                                                        .session = session_of(event.which)}});
}

// Half of the clients can resume their leases after a restart of their daemons.
tempo::lock::lease::Session Cluster::session_of(std::uint32_t which) const {
  const Client& client = clients_[which];
  const bool lease =
      client.state == Client::State::stands || kKinds[client.lock] == LockKind::lease;
  if (!lease || which % 2 != 0) return {};
  return {.number = number_of(which), .process = which + 1};
}

// The client connects to the new daemon of its host.
void Cluster::come_back(std::uint32_t which) {
  Client& client = clients_[which];
  const bool may_act = client.state == Client::State::inside || client.acts;
  if (!client.orphan || client.returning || !may_act || !world_.up(client.host) ||
      world_.boot_now(client.host) >= client.deadline)
    return;
  client.returning = true;
  if (client.state == Client::State::stands) {
    client.orphan = false;
    send_stand(which, groups::Lead{client.token, client.origin, client.deadline});
  } else {
    send(client.host, Host::Locks::Command{locks::Resume{.client = ClientId{number_of(which)},
                                                         .name = lock_name(client.lock),
                                                         .mode = client.mode,
                                                         .session = session_of(which),
                                                         .token = client.token,
                                                         .origin = client.origin,
                                                         .deadline = client.deadline}});
  }
}

// It has its lock or its lead again.
void Cluster::returned(std::uint32_t which, tempo::lock::Token token, BootTime deadline) {
  Client& client = clients_[which];
  client.orphan = client.returning = false;
  ++outcome_.resumes;
  if (token != client.token)
    violated("same-token", fmt::format("client {} resumed {} with another token", which + 1,
                                       std::to_underlying(client.token)));
  if (world_.boot_now(client.host) >= client.deadline)
    violated("same-token", fmt::format("client {} resumed after its deadline", which + 1));
  client.deadline = std::max(client.deadline, deadline);
}

void Cluster::stand(const Event& event) {
  Client& client = clients_[event.which];
  if (client.state != Client::State::idle || !world_.up(client.host)) return;
  ++client.request;
  client.state = Client::State::stands;
  client.lock = event.lock;
  client.acts = client.orphan = false;
  plan(event.span, {.kind = Event::Kind::quit, .which = event.which, .turn = client.request});
  client.capacity = static_cast<groups::Capacity>(event.number);
  client.returning = false;
  send_stand(event.which, std::nullopt);
}

void Cluster::send_stand(std::uint32_t which, const std::optional<groups::Lead>& lead) {
  const Client& client = clients_[which];
  send(client.host, Host::Groups::Command{Host::Groups::Stand{
                        .user = groups::UserId{number_of(which)},
                        .group = group_name(client.lock),
                        .terms = {groups::Criterion::weight,
                                  client.lock == 0 ? groups::Algorithm::b1 : groups::Algorithm::c},
                        .capacity = client.capacity,
                        .min_stay = 1s,
                        .session = session_of(which),
                        .lead = lead}});
}

void Cluster::go_idle(std::uint32_t which) {
  Client& client = clients_[which];
  if (client.state == Client::State::waits) ledgers_[client.ledger].gave_up(which);
  if (client.state == Client::State::inside) ledgers_[client.ledger].left(which);
  client.state = Client::State::idle;
  client.acts = client.orphan = client.returning = false;
  ++client.request;
}

// The client leaves, gives up or dies; its daemon notices at once.
void Cluster::end(std::uint32_t which, bool by_itself) {
  const Client client = clients_[which];
  if (client.state == Client::State::idle) return;
  const std::uint32_t number = number_of(which);
  go_idle(which);
  if ((client.orphan && !client.returning) || !by_itself) return;
  if (client.state == Client::State::stands)
    send(client.host, Host::Groups::Command{Host::Groups::Withdraw{groups::UserId{number}}});
  else
    send(client.host, Host::Locks::Command{locks::Release{ClientId{number}}});
}

// The test runs a little before the deadline and repeats itself until less than a microsecond is
// left: a client that stops late would be blamed for the driver.
void Cluster::plan_deadline(std::uint32_t which) {
  const Client& client = clients_[which];
  const Nanos left = client.deadline - world_.boot_now(client.host);
  plan(std::max(left * 997 / 1000, Nanos{1}),
       {.kind = Event::Kind::deadline, .which = which, .turn = client.request});
}

void Cluster::test_deadline(std::uint32_t which) {
  const Client& client = clients_[which];
  if (client.state != Client::State::inside && !client.acts) return;
  if (client.deadline - world_.boot_now(client.host) > 1us) return plan_deadline(which);
  if (client.state == Client::State::stands && !client.orphan) {
    clients_[which].acts = false;  // tempod reports the loss later
    return;
  }
  end(which, true);
}

// --- notices ---

void Cluster::on_notice(NodeId id, const node::Node::Notice& notice) {
  Machine& machine = machines_[index(id)];
  if (attack_) judge_attack(id, notice);
  if (const auto* clock = std::get_if<node::Node::ClockNotice>(&notice))
    machine.stepped |= std::holds_alternative<node::Stepped>(clock->notice);
  const auto* const of_election = std::get_if<node::Node::ElectionNotice>(&notice);
  if (of_election == nullptr) return;
  const election::Notice& news = of_election->notice;
  if (news.news == Change::leads) ++outcome_.masters;
  if (news.news != Change::adjusted && news.news != Change::set) return;
  if (news.epoch < machine.highest)
    violated("obeys-newest", fmt::format("{} applied a correction of epoch {} after epoch {}",
                                         index(id) + 1, news.epoch.round, machine.highest.round));
  machine.highest = std::max(machine.highest, news.epoch);
}

void Cluster::on_notice(NodeId id, const Host::Locks::Notice& notice) {
  if (const auto* update = std::get_if<LockUpdate>(&notice)) return on_update(id, *update);
  if (!std::holds_alternative<Host::Locks::VotersAgreed>(notice)) return;
  set_of(host(id));
  if (setup_.scenario == Scenario::halves) return;
  const std::vector<HostId>& voters = host(id).locks()->record().voters;
  if (voters_.empty()) voters_ = voters;
  if (voters_ != voters)
    violated("one-voter-set", fmt::format("{} knows other first voters", index(id) + 1));
}

void Cluster::on_update(NodeId id, const LockUpdate& update) {
  const std::uint32_t which = (std::to_underlying(update.client) - 1) % setup_.clients;
  Client& client = clients_[which];
  // A late answer to a client that has gone; the driver told the daemon so.
  if (number_of(which) != std::to_underlying(update.client) || client.host != id) return;
  sim::lock::Ledger& ledger = ledgers_[client.ledger];
  switch (update.kind) {
    case LockUpdate::Kind::granted: {
      if (client.returning) return returned(which, update.token, update.deadline);
      if (client.state != Client::State::waits)
        return violated("one-answer",
                        fmt::format("client {} got lock {} twice", which + 1, client.lock));
      if (world_.boot_now(id) >= update.deadline)
        return end(which, true);  // the notice came too late
      if (attack_ && attack_->alone())
        violated("no-lock", fmt::format("client {} got {} from replayed datagrams", which + 1,
                                        lock_name(client.lock)));
      const auto before = ledger.tally();
      ledger.entered(which, client.mode, update.token, world_.now());
      if (ledger.tally().violations > before.violations)
        violated("exclusion", fmt::format("client {} entered {} beside another", which + 1,
                                          lock_name(client.lock)));
      if (ledger.tally().token_disorder > before.token_disorder)
        violated("token-order",
                 fmt::format("client {} entered {} with token {}", which + 1,
                             lock_name(client.lock), std::to_underlying(update.token)));
      if (setup_.scenario == Scenario::halves && update.token != tempo::lock::kNoToken) {
        const std::uint32_t set = client.ledger / kLocks;
        if (const auto [known, fresh] = tokens_.emplace(update.token, set);
            !fresh && known->second != set)
          violated("two-sets", fmt::format("client {} got a token of the other voting set: {}",
                                           which + 1, std::to_underlying(update.token)));
      }
      client.state = Client::State::inside;
      client.token = update.token;
      client.origin = update.origin;
      client.deadline = update.deadline;
      entered_[client.lock] = world_.now();
      plan(client.span, {.kind = Event::Kind::leave, .which = which, .turn = client.request});
      return plan_deadline(which);
    }
    case LockUpdate::Kind::extended:
      if (client.state == Client::State::inside && world_.boot_now(id) < client.deadline)
        client.deadline = std::max(client.deadline, update.deadline);
      return;
    case LockUpdate::Kind::lost:
    case LockUpdate::Kind::refused:
      if (!std::exchange(client.returning, false)) return go_idle(which);
      return;  // it is inside until its deadline
  }
}

void Cluster::on_notice(NodeId id, const Host::Groups::Notice& notice) {
  if (const auto* update = std::get_if<groups::LeadershipUpdate>(&notice)) on_update(id, *update);
  if (const auto* refused = std::get_if<groups::Refused>(&notice); refused && refused->user) {
    const std::uint32_t which = (std::to_underlying(*refused->user) - 1) % setup_.clients;
    if (number_of(which) == std::to_underlying(*refused->user)) go_idle(which);
  }
}

void Cluster::on_update(NodeId id, const groups::LeadershipUpdate& update) {
  using Kind = groups::LeadershipUpdate::Kind;
  const std::uint32_t which = (std::to_underlying(update.user) - 1) % setup_.clients;
  Client& client = clients_[which];
  if (number_of(which) != std::to_underlying(update.user) || client.host != id) return;
  switch (update.kind) {
    case Kind::leads:
      if (world_.boot_now(id) >= update.deadline) return;
      if (client.returning && client.acts) return returned(which, update.term, update.deadline);
      for (std::uint32_t i = 0; i < clients_.size(); ++i)
        if (clients_[i].acts && clients_[i].lock == client.lock &&
            clients_[i].state == Client::State::stands)
          violated("one-leader", fmt::format("client {} leads {} beside client {}", which + 1,
                                             group_name(client.lock), i + 1));
      if (update.term <= terms_[client.lock])
        violated("term-order", fmt::format("client {} leads {} in term {} after term {}", which + 1,
                                           group_name(client.lock), std::to_underlying(update.term),
                                           std::to_underlying(terms_[client.lock])));
      terms_[client.lock] = std::max(terms_[client.lock], update.term);
      ++outcome_.terms;
      client.acts = true;
      client.returning = false;
      client.token = update.term;
      client.origin = update.origin;
      client.deadline = update.deadline;
      return plan_deadline(which);
    case Kind::extended:
      if (client.acts && world_.boot_now(id) < client.deadline)
        client.deadline = std::max(client.deadline, update.deadline);
      return;
    case Kind::stop:
      plan(5ms, {.kind = Event::Kind::stopped, .which = which, .turn = client.request});
      return;
    case Kind::lost:
      client.acts = client.returning = false;
      return;
    case Kind::job_done:
      return go_idle(which);
    case Kind::follows:
    case Kind::no_majority:
      return;
  }
}

// --- events ---

void Cluster::happen(const Event& event) {
  using enum Event::Kind;
  const bool of_client = event.kind <= offer || event.kind == quit || event.kind == leave ||
                         event.kind == deadline || event.kind == stopped ||
                         event.kind == Event::Kind::come_back;
  const NodeId id = of_client ? clients_[event.which].host : NodeId{event.which};
  switch (event.kind) {
    case acquire:
      return this->acquire(event);
    case stand:
      return this->stand(event);
    case die:
      return end(event.which, true);
    case offer:
      if (clients_[event.which].state == Client::State::stands && !clients_[event.which].orphan)
        send(id, Host::Groups::Command{
                     Host::Groups::Offer{groups::UserId{number_of(event.which)},
                                         static_cast<groups::Capacity>(event.number)}});
      return;
    case quit:
      if (current(event) && clients_[event.which].state != Client::State::inside)
        end(event.which, true);
      return;
    case leave:
      if (current(event)) end(event.which, true);
      return;
    case deadline:
      if (current(event)) test_deadline(event.which);
      return;
    case Event::Kind::come_back:
      if (current(event)) this->come_back(event.which);
      return;
    case stopped:
      if (!current(event)) return;
      clients_[event.which].acts = clients_[event.which].returning = false;
      return send(
          id, Host::Groups::Command{Host::Groups::Stopped{groups::UserId{number_of(event.which)}}});
    case crash:
    case reboot:
      this->crash(id, event.kind == reboot, event.number == 1);
      return plan(event.span, {.kind = restart, .which = event.which});
    case damage:
      this->crash(id, true);
      world_.disk(id).damage();
      return plan(event.span, {.kind = restart, .which = event.which});
    case blackout:
      for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
        this->crash(NodeId{i}, event.which % 2 == 0);
        plan(event.span * (i + 1) / setup_.nodes, {.kind = restart, .which = i});
      }
      return;
    case restart:
      return start(id);
    case suspend:
      if (world_.up(id)) machines_[event.which].sleeps = true;
      [[fallthrough]];
    case pause:
      world_.pause(id);
      return plan(event.span, {.kind = Event::Kind::resume, .which = event.which});
    case Event::Kind::resume:
      return this->resume(id);
    case Event::Kind::resign:
      return this->resign(event);
    case Event::Kind::partition:
      cut_ = static_cast<std::uint32_t>(event.number);
      update_partition();
      return plan(event.span, {.kind = heal});
    case heal:
      cut_.reset();
      return update_partition();
    case one_way:
      parts_[event.which] = static_cast<std::uint32_t>(event.number);
      update_partition();
      return plan(event.span, {.kind = hear, .which = event.which});
    case hear:
      parts_[event.which] = 0;
      return update_partition();
    case rate:
      return world_.clock(id).change_rate(in_seconds(world_.now().time_since_epoch()),
                                          static_cast<double>(event.number) * 1e-9);
    case step:
      return;
    case slew:
      return world_.set_boot_clock(id, world_.boot_minus_raw(id), Ppb{event.number});
    case slow_disk:
      world_.set_disk_works(id, false);
      return plan(event.span, {.kind = disk_works, .which = event.which});
    case disk_works:
      return world_.set_disk_works(id, true);
    case Event::Kind::calm:
      return this->calm();
    case Event::Kind::accident:
      return this->accident(event);
    case set_time:
      return send(id, node::Node::Command{
                          node::Node::ClockCommand{.command = node::SetNetworkTime{event.span}}});
    case Event::Kind::attack:
      return this->attack(event);
    case attack_begins:
      return begin_attack(event);
    case Event::Kind::replay:
      return this->replay();
    case attack_ends:
      return end_attack();
    case split:
      cut_ = static_cast<std::uint32_t>(event.number);
      return update_partition();
    case meet:
      cut_.reset();
      return update_partition();
    case Event::Kind::clone:
      return start_clone(event);
    case power_on:
      return start(id);
  }
}

// The clients of a dead daemon go on until their deadlines. With the power the clients are gone
// too, and the boot clock begins at zero.
void Cluster::crash(NodeId id, bool power, bool loses_writes) {
  if (!world_.up(id)) return;
  Machine& machine = machines_[index(id)];
  const std::size_t writing = world_.disk(id).writing();
  const std::size_t kept = loses_writes ? 0 : power_.below(writing + 1);
  const bool rough = setup_.scenario == Scenario::disk || setup_.scenario == Scenario::everything;
  const bool torn = power && rough && power_.chance(0.05);
  world_.crash(id, kept, torn);
  machine.inbox.clear();
  machine.sleeps = false;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (client.host != id || client.state == Client::State::idle) continue;
    const bool acts = client.state == Client::State::inside || client.acts;
    client.returning = false;
    if (!power && acts)
      client.orphan = true;
    else
      go_idle(i);
  }
  if (!power) return;
  ++machine.boots;
  world_.set_boot_clock(id, -world_.local_now(id).time_since_epoch(), Ppb{});
}

void Cluster::start(NodeId id) {
  if (world_.up(id)) return;
  const Disk<WiredHost>& disk = world_.disk(id);
  Machine& machine = machines_[index(id)];
  if (!has_locks(disk) || disk.record().locks->place == locks::kNowhere)
    machine.restored = false;  // it knows that it has no record
  std::vector<locks::LockRecord>& copies = machine.copies;
  if (setup_.scenario == Scenario::records && has_locks(disk) && copies.size() < kMaxCopies &&
      (copies.empty() || copies.back() != disk.record().locks))
    copies.push_back(*disk.record().locks);
  world_.start(id);
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    const Client& client = clients_[i];
    if (client.host == id && client.orphan && session_of(i).number != 0)
      plan(kComesBack * (i + 1),
           {.kind = Event::Kind::come_back, .which = i, .turn = client.request});
  }
}

void Cluster::resume(NodeId id) {
  Machine& machine = machines_[index(id)];
  if (std::exchange(machine.sleeps, false)) {
    crash(id, false);
    return start(id);
  }
  world_.resume(id);
  for (const Host::Command& command : std::exchange(machine.inbox, {})) send(id, command);
}

void Cluster::resign(const Event& event) {
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
    const NodeId id{i};
    if (!world_.up(id)) continue;
    if (event.lock < kGroups)
      send(id, Host::Groups::Command{Host::Groups::Resign{group_name(event.lock)}});
    else
      send(id, node::Node::Command{node::Node::ElectionCommand{
                   .network = 0, .command = election::Command::resign}});
  }
}

// Whether the host has a record of its own with which it may vote: not one that it lost, or that
// was restored and that the others refuse.
bool Cluster::has_record(NodeId id) const {
  const Disk<WiredHost>& disk = world_.disk(id);
  return has_locks(disk) && !machines_[index(id)].restored &&
         disk.record().locks->place != locks::kNowhere;
}

// Whether the host may lose its record now. Where a majority of the voters must keep theirs, at
// most a minority of the hosts has none.
bool Cluster::may_lose_record(NodeId id) {
  std::uint32_t without = 1;
  for (std::uint32_t i = 0; i < setup_.nodes; ++i)
    if (NodeId{i} != id && !has_record(NodeId{i})) ++without;
  return without <= (setup_.voters() - 1) / 2 || !setup_.keeps_majority();
}

void Cluster::accident(const Event& event) {
  if (event.lock == 0)
    return damage_record(event.which, static_cast<Accident>(event.number), event.span);
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
    const auto kind =
        static_cast<Accident>(accidents_.below(std::to_underlying(Accident::of_other)));
    if (accidents_.chance(0.6)) damage_record(i, kind, event.span);
  }
}

void Cluster::damage_record(std::uint32_t which, Accident kind, Nanos restart) {
  const NodeId id{which};
  Disk<WiredHost>& disk = world_.disk(id);
  const bool shows = kind != Accident::restored && kind != Accident::wiped;
  // Only a majority of good records makes up for an accident that does not show.
  if (!shows && !setup_.keeps_majority()) return;
  if (!world_.up(id) || !has_locks(disk) || !may_lose_record(id)) return;
  crash(id, true);
  plan(restart, {.kind = Event::Kind::restart, .which = which});
  host::Records records = disk.record();
  const locks::LockRecord durable = *records.locks;
  const NodeId other{(which + 1) % setup_.nodes};
  Generations generations{
      .current = durable, .previous = previous_locks(disk), .older = machines_[which].copies};
  if (has_locks(world_.disk(other))) generations.of_other = *world_.disk(other).record().locks;
  const auto files = files_after(kind, generations, accidents_);
  if (!files) return;
  ++outcome_.accidents;
  const auto read = tempo::daemon::saved_locks(sys::record_in(*files, "locks"), "locks",
                                               host_at(which), place_of(id));
  if (shows && read.lost.empty() && (!read.record || *read.record != durable))
    violated("not-silent", fmt::format("{} did not notice an accident of its record: {}", which + 1,
                                       name_of(kind)));
  machines_[which].restored = kind == Accident::restored;
  if (!read.lost.empty() && !setup_.lost_is_absent)
    disk.damage();
  else
    disk.lose();
  if (!read.record || (!read.lost.empty() && !setup_.lost_is_absent)) return;
  records.locks = read.record;
  disk.set(records);
}

// A copy of the disk in another machine, from the last record or from one before it.
void Cluster::start_clone(const Event& event) {
  cloned_ = NodeId{event.which};
  const Disk<WiredHost>& disk = world_.disk(cloned_);
  if (disk.file() != Disk<WiredHost>::File::good) return;
  const NodeId clone{setup_.nodes};
  world_.disk(clone).set(event.number == 1 && disk.previous() ? *disk.previous() : disk.record());
  start(clone);
}

// The number of the voting set of a host; 0 also if it knows none.
std::uint32_t Cluster::set_of(const Host& machine) {
  if (setup_.scenario != Scenario::halves || !machine.locks()->committed()) return 0;
  const wire::SetId id = machine.locks()->set_id();
  const auto known = std::ranges::find(sets_, id);
  const auto number = static_cast<std::uint32_t>(known - sets_.begin());
  if (known == sets_.end()) sets_.push_back(id);
  CHECK(number < 2);
  return number;
}

void Cluster::update_partition() {
  const std::uint32_t n = setup_.machines();
  std::vector<bool> blocked(std::size_t{n} * n);
  bool any = false;
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint32_t to = 0; to < n; ++to) {
      const bool apart = cut_ && (*cut_ >> from & 1) != (*cut_ >> to & 1);
      const bool unheard = (parts_[from] >> to & 1) != 0;
      blocked[std::size_t{from} * n + to] = from != to && (apart || unheard);
      any = any || blocked[std::size_t{from} * n + to];
    }
  if (!any) blocked.clear();
  world_.set_partition(std::move(blocked));
}

void Cluster::calm() {
  calm_ = true;
  cut_.reset();
  std::ranges::fill(parts_, 0);
  update_partition();
  world_.set_link(link_of(true));
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
    const NodeId id{i};
    world_.set_disk_works(id, true);
    if (world_.up(id) && world_.paused(id)) resume(id);
    start(id);
  }
}

// --- the attacker ---

void Cluster::attack(const Event& event) {
  const bool alone = event.number == 1;
  for (std::uint32_t i = 0; i < setup_.nodes; ++i)
    if (alone || i == event.which) crash(NodeId{i}, alone || i % 2 == 0);
  plan(alone ? 2s : 12s,
       {.kind = Event::Kind::attack_begins, .which = event.which, .number = event.number});
}

void Cluster::begin_attack(const Event& event) {
  const bool alone = event.number == 1;
  Attack attack{.target = NodeId{event.which}};
  if (!alone) {
    attack.master = sole_master();
    for (std::uint32_t i = 0; i < clients_.size(); ++i)
      if (clients_[i].state == Client::State::inside)
        attack.holders.emplace_back(i, clients_[i].request);
    if (attack.master == kNobody || attack.holders.size() < 2) {
      violated("no-attack", fmt::format("the network has not recovered: {} clients hold a lock",
                                        attack.holders.size()));
      return start(attack.target);
    }
  }
  attack_ = std::move(attack);
  const Nanos time = alone ? 28s : 12s;
  if (setup_.attacks) {
    attacker_.begin(attack_->target, static_cast<std::size_t>(time / kRound));
    plan(Nanos{0}, {.kind = Event::Kind::replay});
  }
  plan(time, {.kind = Event::Kind::attack_ends});
  start(attack_->target);
}

void Cluster::replay() {
  if (!attack_) return;
  injects_ = true;
  for (const Attacker::Datagram& datagram : attacker_.next())
    world_.inject(datagram.from, datagram.to, datagram.bytes);
  injects_ = false;
  plan(kRound, {.kind = Event::Kind::replay});
}

void Cluster::end_attack() {
  if (!attack_) return;
  const Attack attack = *std::exchange(attack_, std::nullopt);
  if (attack.alone() && world_.machine(attack.target).heard() > 0)
    violated("no-recording",
             fmt::format("{} believed {} datagrams of hosts that are down",
                         index(attack.target) + 1, world_.machine(attack.target).heard()));
  for (const auto& [which, request] : attack.holders)
    if (clients_[which].request != request)
      violated("no-lock", fmt::format("client {} lost its lock", which + 1));
  if (!attack.alone() && host(attack.target).node().network(0)->master() != attack.master)
    violated("no-master", fmt::format("{} does not follow {}", index(attack.target) + 1,
                                      index(attack.master) + 1));
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) start(NodeId{i});
}

// --- properties ---

// No replayed datagram makes a master, steps a clock or sets network time. The host that starts
// follows the master that there is, and is stepped to its time.
void Cluster::judge_attack(NodeId id, const node::Node::Notice& notice) {
  if (const auto* of_election = std::get_if<node::Node::ElectionNotice>(&notice)) {
    const election::Notice& news = of_election->notice;
    if (news.news == Change::leads && !attack_->alone())
      violated("no-master", fmt::format("{} became master", index(id) + 1));
    if (news.news == Change::follows && (attack_->alone() || news.peer != attack_->master))
      violated("no-master", fmt::format("{} follows {}", index(id) + 1, index(news.peer) + 1));
  }
  const auto* const of_clock = std::get_if<node::Node::ClockNotice>(&notice);
  if (of_clock == nullptr) return;
  if (std::holds_alternative<node::NetworkTimeSet>(of_clock->notice))
    violated("no-step", fmt::format("{} set network time", index(id) + 1));
  if (std::holds_alternative<node::Stepped>(of_clock->notice) &&
      (attack_->alone() || id != attack_->target))
    violated("no-step", fmt::format("the clock of {} was stepped", index(id) + 1));
}

void Cluster::judge_step(NodeId id) {
  const Host& machine = host(id);
  Machine& seen = machines_[index(id)];
  if (const char* broken = machine.check_stepped())
    violated("invariant", fmt::format("{}: {}", index(id) + 1, broken));
  const WallTime shows = machine.node().sync().steered_clock().at(world_.local_now(id));
  if (seen.shown && shows < *seen.shown && !seen.stepped)
    violated("monotonic", fmt::format("the clock of {} went back by {} ns", index(id) + 1,
                                      (*seen.shown - shows).count()));
  seen.shown = shows;
  if (seen.stepped && attack_ && id == attack_->target && !attack_->alone()) {
    const NodeId master = attack_->master;
    const Nanos error =
        shows - host(master).node().sync().steered_clock().at(world_.local_now(master));
    if (std::chrono::abs(error) > kMaxStepError)
      violated("no-step", fmt::format("the clock of {} was stepped to {} ms from the master's",
                                      index(id) + 1, error / 1ms));
  }
  seen.stepped = false;
  judge_time();
  if (!machine.stepped().node) return;
  if (const election::MasterElection* election = machine.node().network(0))
    seen.highest = std::max(seen.highest, election->followed());
  const node::Reading reading = machine.node().sync().reading(world_.local_now(id));
  if (reading.status != node::Reading::Status::unsynchronized &&
      (reading.time < reading.earliest || reading.latest < reading.time))
    violated("bound-order", fmt::format("{} shows a time outside its bounds", index(id) + 1));
}

// In each lineage at most one host says that it leads the main part, and its time is inside the
// bounds of all members that claim some. A paused daemon is judged too: programs read its page.
void Cluster::judge_time() {
  if (world_.now() < next_time_) return;
  next_time_ = world_.now() + kTimeCheck;
  struct Claim {
    std::uint32_t host = 0;
    std::uint64_t lineage = 0;
    std::uint32_t generation = 0;
    node::Reading reading{};
  };
  std::vector<Claim> claims;
  for (std::uint32_t i = 0; i < setup_.machines(); ++i) {
    if (!world_.up(NodeId{i}) || machines_[i].sleeps) continue;
    const Host& machine = host(NodeId{i});
    const node::Sync& sync = machine.node().sync();
    const node::Reading reading = sync.reading(world_.local_now(NodeId{i}));
    if (machine.views().view().known() && reading.status != node::Reading::Status::unsynchronized &&
        reading.status != node::Reading::Status::alone)
      claims.push_back({i, machine.views().view().lineage, sync.timescale_generation(), reading});
  }
  for (const Claim& main : claims) {
    if (main.reading.status != node::Reading::Status::leads) continue;
    for (const Claim& claim : claims) {
      if (claim.host == main.host || claim.lineage != main.lineage) continue;
      if (claim.reading.status == node::Reading::Status::leads)
        violated("one-main",
                 fmt::format("{} and {} lead the main part", main.host + 1, claim.host + 1));
      const Nanos missed = std::max(claim.reading.earliest - main.reading.time,
                                    main.reading.time - claim.reading.latest);
      if (judges_time_ && claim.generation == main.generation && missed > Nanos{0} &&
          world_.now() >= Instant{} + kYoung)
        violated("one-time",
                 fmt::format("the bounds of {}, {}, miss network time by {} ns", claim.host + 1,
                             name_of(claim.reading.status), missed.count()));
    }
  }
}

// The only master; kNobody: there is none, or several.
NodeId Cluster::sole_master() {
  NodeId master = kNobody;
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
    if (!world_.up(NodeId{i})) continue;
    const election::MasterElection& election = *host(NodeId{i}).node().network(0);
    if (election.state() != election::State::master) continue;
    if (master != kNobody) {
      violated("one-master", fmt::format("{} and {} are masters", index(master) + 1, i + 1));
      return kNobody;
    }
    master = NodeId{i};
  }
  if (master == kNobody) violated("one-master", "no node is master");
  return master;
}

// A majority of the voters has lost its records, or votes no more because the others refuse them:
// without an operator there are no more locks.
bool Cluster::records_lost() const {
  const auto lost = [&](std::uint32_t i) {
    const bool damaged = world_.disk(NodeId{i}).file() == Disk<WiredHost>::File::damaged;
    return (damaged || (machines_[i].locks_lost && !has_locks(world_.disk(NodeId{i}))) ||
            host(NodeId{i}).locks()->retired()) &&
           std::ranges::find(voters_, host_at(i)) != voters_.end();
  };
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) count += lost(i) ? 1U : 0U;
  return count > voters_.size() / 2;
}

// The clone and its host have heard each other since the faults ended.
void Cluster::judge_clone() {
  const NodeId clone{setup_.nodes};
  if (cloned_ == kNobody || !world_.up(clone)) return;
  for (const NodeId id : {cloned_, clone})
    if (!host(id).locks()->retired())
      violated("clone-retires",
               fmt::format("{} {} still votes", id == clone ? "the clone of" : "host",
                           index(cloned_) + 1));
}

void Cluster::judge_sets() {
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
    const NodeId id{i};
    if (!world_.up(id) || !host(id).locks()->committed()) continue;
    for (std::uint32_t j = 0; j < setup_.nodes; ++j) {
      const NodeId other{j};
      if (!world_.up(other) || !host(other).locks()->committed()) continue;
      if (host(other).locks()->set_id() == host(id).locks()->set_id()) continue;
      if (host(id).locks()->other_set(world_.boot_now(id)) == kNoHost)
        return violated("sets-reported",
                        fmt::format("{} does not know of the voters of {}", i + 1, j + 1));
    }
  }
}

void Cluster::judge_end() {
  if (setup_.scenario == Scenario::clone) return judge_clone();
  if (setup_.scenario == Scenario::halves) return judge_sets();
  const NodeId master = sole_master();
  if (master == kNobody) return;
  const auto reading = [&](NodeId id) {
    return host(id).node().sync().reading(world_.local_now(id));
  };
  const node::Reading network = reading(master);
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
    const NodeId id{i};
    const election::MasterElection& election = *host(id).node().network(0);
    if (id != master && election.master() != master)
      violated("one-master", fmt::format("{} does not follow {}", i + 1, index(master) + 1));
    const node::Reading here = reading(id);
    if (here.status != node::Reading::Status::unsynchronized &&
        (network.time < here.earliest || network.time > here.latest))
      violated(
          "one-time",
          fmt::format("the bounds of {} miss the master's time by {} ns", i + 1,
                      std::max(here.earliest - network.time, network.time - here.latest).count()));
  }
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    const Client& client = clients_[i];
    const Nanos waited = world_.now() - std::max(client.since, entered_[client.lock]);
    if (host(client.host).locks()->retired()) continue;  // it says so, and gives no locks
    if (client.state == Client::State::waits && waited > kLongestWait && !records_lost())
      violated("progress", fmt::format("client {} waits for {}, which no client enters for {} s",
                                       i + 1, lock_name(client.lock), waited / 1s));
  }
}

}  // namespace

Outcome run(const Setup& setup) { return std::make_unique<Cluster>(setup)->run(); }

std::vector<std::uint32_t> shrunk(const Setup& setup, const Outcome& outcome) {
  const std::string property = outcome.violations.front().property;
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < outcome.plan.size(); ++i)
    if (!setup.keep || std::ranges::binary_search(*setup.keep, i)) all.push_back(i);
  return fewest(
      std::move(all),
      [&](const std::vector<std::uint32_t>& keep) {
        Setup smaller = setup;
        smaller.keep = keep;
        const Outcome again = run(smaller);
        return !again.kept() && again.violations.front().property == property;
      },
      300);
}

}  // namespace tempo::sim::daemon
