#include "lab/studies/group/group_run.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "lab/sim/world.h"
#include "lab/studies/group/group_cluster.h"

namespace tempo::sim::groups {
namespace {

constexpr std::uint32_t kStream = 20;  // index of the stream under Cause::plan
constexpr std::int64_t kBillion = 1'000'000'000;
constexpr const char* kGroup = "web";
const live::UserId kUser{1};

// The directory gives host i the number i.
HostId id_of(std::uint32_t host) { return HostId{std::uint64_t{host} << 44 | 1}; }
NodeId node_of(HostId id) {
  return NodeId{static_cast<std::uint32_t>(std::to_underlying(id) >> 44)};
}

// Disk of a host that has never run: all hosts vote.
locks::Saved first_disk(std::uint32_t hosts) {
  std::vector<HostId> voters;
  for (std::uint32_t i = 0; i < hosts; ++i) voters.push_back(id_of(i));
  return {.view = locks::first_voters(voters)};
}

}  // namespace

// The daemon's services without its sockets.
class Cluster::Host final : public locks::Driver {
 public:
  using Groups = live::GroupService;

  Host(Cluster& cluster, std::uint32_t number)
      : cluster_(&cluster),
        number_(number),
        locks({.self = id_of(number),
               .voters = {},
               .hosts = {[](HostId id) { return node_of(id); },
                         [](NodeId node) { return id_of(index(node)); }},
               .rules = cluster.lock_rules_,
               .saved = cluster.disks_[number]},
              cluster.draw_, *this),
        groups({.self = NodeId{number},
                .life = Incarnation{cluster.incarnations_[number] * 1000 + 1},
                .hosts = &cluster.directory_,
                .rules = {.lease = cluster.setup_.lease}}) {}

  void broadcast(const wire::LockBody& body) override { cluster_->send(number_, kAll, body); }
  void send(HostId to, const wire::LockBody& body) override {
    cluster_->send(number_, index(node_of(to)), body);
  }
  void write(const locks::Saved& saved) override {
    cluster_->agenda_.add(cluster_->now_ + cluster_->up_to(1ms),
                          {.kind = Event::Kind::written,
                           .host = number_,
                           .incarnation = cluster_->incarnations_[number_],
                           .saved = saved});
  }
  void notify(locks::ClientId client, const locks::LockUpdate& update) override {
    cluster_->agenda_.add(cluster_->now_, {.kind = Event::Kind::lock_update,
                                           .host = number_,
                                           .incarnation = cluster_->incarnations_[number_],
                                           .lease = {client, update}});
  }

  template <class Do>
  void step_groups(Do todo) {
    out_.clear();
    const Instant now = cluster_->local(number_);
    Turn<Groups> turn{now, cluster_->draw_, out_};
    groups.command(turn, cluster_->clock(number_));
    todo(turn);
    for (const Output<Groups>& output : out_) {
      if (output.kind == OutputKind::notice)
        std::visit([&](const auto& notice) { on_notice(now, notice); }, output.notice);
      else
        cluster_->send(number_, output.kind == OutputKind::send ? index(output.to) : kAll,
                       output.message);
    }
    if (cluster_->outcome_.broken == nullptr) cluster_->outcome_.broken = groups.check();
  }
  void command_groups(const Groups::Command& command) {
    step_groups([&](Turn<Groups>& turn) { groups.command(turn, command); });
  }

 private:
  void on_notice(Instant now, const Groups::Acquire& acquire) {
    const auto requested = locks.acquire(
        now, {.client = acquire.client,
              .name = acquire.lock,
              .network_us = static_cast<std::uint64_t>(cluster_->now_.time_since_epoch() / 1us)});
    if (!requested) cluster_->outcome_.broken = "cannot ask for the lease";
  }
  void on_notice(Instant now, const Groups::Release& release) {
    locks.release(now, release.client);
  }
  void on_notice(Instant /*now*/, const live::LeadershipUpdate& update) {
    cluster_->on_update(number_, update);
  }
  void on_notice(Instant /*now*/, const live::Refused& refused) {
    if (refused.user) cluster_->outcome_.broken = "cannot stand";
  }
  void on_notice(Instant /*now*/, const Groups::LeaderChanged& /*changed*/) {}
  void on_notice(Instant /*now*/, const live::AlgorithmReplaced& /*replaced*/) {}

  Cluster* cluster_;
  std::uint32_t number_;
  Outbox<Groups> out_;

 public:
  locks::Service locks;
  Groups groups;
};

Cluster::Cluster(const Setup& setup)
    : setup_(setup),
      lock_rules_{.lease = setup.lease, .longest = setup.lease, .block = 64},
      hosts_(setup.hosts),
      users_(setup.hosts),
      disks_(setup.hosts, first_disk(setup.hosts)),
      incarnations_(setup.hosts),
      paused_(setup.hosts),
      held_back_(setup.hosts),
      side_(setup.hosts),
      stream_(setup.seed, std::to_underlying(Cause::plan), kStream),
      draw_(stream_) {
  CHECK(setup.hosts > 0 && setup.hosts <= lock::lease::kMaxVoters);
  const auto drift = static_cast<std::uint64_t>(lock_rules_.drift.value);
  for (std::uint32_t i = 0; i < setup.hosts; ++i) {
    directory_.admit(id_of(i));
    rates_.push_back(static_cast<std::int64_t>(stream_.below(2 * drift + 1)) -
                     static_cast<std::int64_t>(drift));
    errors_.push_back(up_to(setup.clock_error));
    users_[i].capacity = new_capacity();
  }
  term_ended_ = now_;
}

Outcome Cluster::run() {
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) start(i);
  const Faults& faults = setup_.faults;
  plan(Event::Kind::crash, faults.crashes_per_s);
  plan(Event::Kind::pause, faults.pauses_per_s);
  plan(Event::Kind::partition, faults.partitions_per_s);
  plan(Event::Kind::resign, faults.resigns_per_s);
  plan(Event::Kind::flap, faults.flaps_per_s);
  run_until(now_ + setup_.faulty);
  faulty_ = partitioned_ = false;
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    agenda_.add(now_, {.kind = Event::Kind::resume, .host = i});
    agenda_.add(now_, {.kind = Event::Kind::restart, .host = i});
  }
  run_until(now_ + 60 * setup_.lease + 4 * setup_.min_stay);
  judge_the_end();
  return outcome_;
}

// --- time ---

Instant Cluster::local(std::uint32_t host, Instant at) const {
  return at + at.time_since_epoch() * rates_[host] / kBillion;
}

Instant Cluster::local(std::uint32_t host) const { return local(host, now_); }

live::NetworkClock Cluster::clock(std::uint32_t host) const {
  return {.offset = now_ + errors_[host] - local(host), .trusted = setup_.trusted};
}

// Clock rates differ slightly; a host that is woken too early is woken again.
Instant Cluster::due(std::uint32_t host) const {
  if (!hosts_[host] || paused_[host]) return kNever;
  const Instant due = std::min(hosts_[host]->locks.due(), hosts_[host]->groups.timers().first());
  return due == kNever ? kNever : now_ + std::max(due - local(host), Nanos{0}) + 1us;
}

void Cluster::run_until(Instant limit) {
  while (outcome_.broken == nullptr) {
    Instant next = std::min(limit, agenda_.first());
    std::uint32_t first = kAll;
    for (std::uint32_t i = 0; i < setup_.hosts; ++i)
      if (const Instant when = due(i); when < next) {
        next = when;
        first = i;
      }
    now_ = std::max(now_, next);
    if (now_ >= limit) return;
    if (first != kAll)
      on_timer(first);
    else
      happen(agenda_.take());
  }
}

void Cluster::on_timer(std::uint32_t number) {
  Host& host = *hosts_[number];
  if (host.locks.due() <= local(number)) host.locks.on_timer(local(number));
  host.step_groups(
      [&](auto& turn) { host.groups.on_timer(turn, host.groups.timers().first_name()); });
}

// --- the network ---

Nanos Cluster::up_to(Nanos most) {
  return Nanos{
      static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

void Cluster::send(std::uint32_t from, std::uint32_t to, const Body& body) {
  const auto shared = std::make_shared<const Body>(body);
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    if (i == from || (to != kAll && to != i)) continue;
    if (partitioned_ && side_[i] != side_[from]) continue;
    const int copies = faulty_ && stream_.chance(setup_.faults.duplicate) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      if (faulty_ && stream_.chance(setup_.faults.loss)) continue;
      Nanos takes = setup_.delay / 10 + up_to(setup_.delay - setup_.delay / 10);
      if (faulty_ && stream_.chance(setup_.faults.late)) takes += up_to(3 * setup_.lease);
      agenda_.add(now_ + takes,
                  {.kind = Event::Kind::arrive, .host = i, .from = from, .body = shared});
    }
  }
}

// --- events ---

void Cluster::happen(const Event& event) {
  using enum Event::Kind;
  const std::uint32_t host = event.host;
  const bool for_daemon = event.kind == arrive || event.kind == written ||
                          event.kind == lock_update || event.kind == stand || event.kind == stopped;
  if (for_daemon) {
    if (event.kind != arrive && event.kind != stand && event.incarnation != incarnations_[host])
      return;
    if (!hosts_[host]) {
      if (event.kind == stand) agenda_.add(now_ + 5ms, event);
      return;
    }
    if (paused_[host]) {
      held_back_[host].push_back(event);
      return;
    }
  }
  Host* daemon = for_daemon ? hosts_[host].get() : nullptr;
  switch (event.kind) {
    case arrive:
      if (const auto* lock = std::get_if<wire::LockBody>(event.body.get()))
        daemon->locks.receive(local(host), id_of(event.from), *lock);
      else
        daemon->step_groups([&](auto& turn) {
          daemon->groups.receive(turn, NodeId{event.from}, std::get<wire::GroupBody>(*event.body));
        });
      break;
    case written:
      disks_[host] = event.saved;
      daemon->locks.written(local(host), *event.saved);
      break;
    case lock_update:
      daemon->command_groups(event.lease);
      break;
    case stand:
      this->stand(host);
      break;
    case stopped:
      if (users_[host].acts) end_term(host);
      users_[host].stops = false;
      daemon->command_groups(Host::Groups::Stopped{kUser});
      break;
    case deadline:
      if (users_[host].term_count != event.incarnation || !users_[host].acts) return;
      if (local(host) < users_[host].deadline) return plan_clock_test(host);
      end_term(host);
      break;
    case restart:
      if (!hosts_[host]) start(host);
      break;
    case resume:
      paused_[host] = false;
      for (const Event& late : std::exchange(held_back_[host], {})) happen(late);
      break;
    default:
      fault(event);
  }
}

// On a ring no candidate is clearly better than another.
live::Capacity Cluster::new_capacity() {
  const std::uint64_t range = live::on_ring(setup_.algorithm) ? 9 : 100;
  return static_cast<live::Capacity>(100 + stream_.below(range));
}

void Cluster::plan(Event::Kind kind, double per_second) {
  if (per_second <= 0) return;
  const double seconds = stream_.exponential(1 / per_second);
  agenda_.add(now_ + Nanos{static_cast<Nanos::rep>(seconds * 1e9)}, {.kind = kind});
}

void Cluster::fault(const Event& event) {
  using enum Event::Kind;
  if (!faulty_) return;
  const auto victim = static_cast<std::uint32_t>(stream_.below(setup_.hosts));
  const Faults& faults = setup_.faults;
  switch (event.kind) {
    case crash:
      this->crash(victim);
      return plan(crash, faults.crashes_per_s);
    case pause:
      paused_[victim] = true;
      agenda_.add(now_ + up_to(3 * setup_.lease), {.kind = resume, .host = victim});
      return plan(pause, faults.pauses_per_s);
    case partition:
      partitioned_ = true;
      for (std::uint32_t i = 0; i < setup_.hosts; ++i) side_[i] = stream_.chance(0.5);
      agenda_.add(now_ + up_to(10 * setup_.lease), {.kind = heal});
      return plan(partition, faults.partitions_per_s);
    case heal:
      partitioned_ = false;
      return;
    case resign:
      for (const auto& host : hosts_)
        if (host) host->command_groups(Host::Groups::Resign{kGroup});
      return plan(resign, faults.resigns_per_s);
    case flap:
      users_[victim].capacity = new_capacity();
      if (hosts_[victim] && !paused_[victim])
        hosts_[victim]->command_groups(Host::Groups::Offer{kUser, users_[victim].capacity});
      return plan(flap, faults.flaps_per_s);
    default:
      return;
  }
}

// --- hosts and users ---

void Cluster::start(std::uint32_t host) {
  ++incarnations_[host];
  hosts_[host] = std::make_unique<Host>(*this, host);
  hosts_[host]->locks.start(local(host));
  users_[host].stands = false;
  agenda_.add(now_ + up_to(setup_.lease / 4), {.kind = Event::Kind::stand, .host = host});
}

void Cluster::crash(std::uint32_t host) {
  if (!hosts_[host]) return;
  hosts_[host].reset();
  ++incarnations_[host];
  paused_[host] = false;
  held_back_[host].clear();
  users_[host].orphan = users_[host].acts;
  users_[host].stops = users_[host].stands = false;
  agenda_.add(now_ + up_to(8 * setup_.lease), {.kind = Event::Kind::restart, .host = host});
}

// A user that still acts for a dead daemon becomes a candidate again after it has stopped.
void Cluster::stand(std::uint32_t host) {
  User& user = users_[host];
  if (user.stands) return;
  if (user.acts) {
    agenda_.add(now_ + 5ms, {.kind = Event::Kind::stand, .host = host});
    return;
  }
  user.stands = true;
  hosts_[host]->command_groups(Host::Groups::Stand{
      .user = kUser,
      .group = kGroup,
      .terms = {live::on_ring(setup_.algorithm) ? live::Criterion::random : live::Criterion::weight,
                setup_.algorithm},
      .capacity = user.capacity,
      .min_stay = setup_.min_stay});
}

void Cluster::on_update(std::uint32_t host, const live::LeadershipUpdate& update) {
  User& user = users_[host];
  switch (update.kind) {
    case live::LeadershipUpdate::Kind::leads:
      return begin_term(host, update);
    case live::LeadershipUpdate::Kind::extended:
      if (user.acts && !user.orphan && local(host) < user.deadline)
        user.deadline = std::max(user.deadline, update.deadline);
      return;
    case live::LeadershipUpdate::Kind::stop:
      if (std::exchange(user.stops, true)) return;
      replaced_ = true;
      judge_hand_over(host);
      agenda_.add(now_ + up_to(setup_.stopping),
                  {.kind = Event::Kind::stopped, .host = host, .incarnation = incarnations_[host]});
      return;
    case live::LeadershipUpdate::Kind::lost:
      if (user.acts && !user.orphan) end_term(host);
      return;
    case live::LeadershipUpdate::Kind::follows:
    case live::LeadershipUpdate::Kind::no_majority:
    case live::LeadershipUpdate::Kind::job_done:
      return;
  }
}

void Cluster::begin_term(std::uint32_t host, const live::LeadershipUpdate& update) {
  User& user = users_[host];
  if (local(host) >= update.deadline) return;  // the notice came too late
  for (const User& other : users_) outcome_.together += other.acts ? 1U : 0U;
  if (update.term <= last_token_) ++outcome_.disorder;
  // A leader that is replaced must have led for min_stay.
  if (std::exchange(replaced_, false) && last_leader_ != host && setup_.faults.resigns_per_s == 0)
    outcome_.hasty += term_ended_ - term_began_ < setup_.min_stay ? 1U : 0U;
  outcome_.longest_gap = std::max(outcome_.longest_gap, now_ - term_ended_);
  last_token_ = update.term;
  last_leader_ = host;
  term_began_ = now_;
  if (outcome_.reigns++ == 0) outcome_.first = host;
  outcome_.as_wanted += hosts_[host]->groups.known(kGroup)->held == setup_.algorithm ? 1U : 0U;
  ++user.term_count;
  user.acts = true;
  user.orphan = false;
  user.deadline = update.deadline;
  plan_clock_test(host);
}

void Cluster::end_term(std::uint32_t host) {
  users_[host].acts = users_[host].orphan = false;
  ++users_[host].term_count;
  term_ended_ = now_;
}

void Cluster::plan_clock_test(std::uint32_t host) {
  const Nanos left = users_[host].deadline - local(host);
  const double span =
      static_cast<double>(left.count()) * kBillion / static_cast<double>(kBillion + rates_[host]);
  agenda_.add(
      now_ + std::max(Nanos{static_cast<Nanos::rep>(span)}, Nanos{1}),
      {.kind = Event::Kind::deadline, .host = host, .incarnation = users_[host].term_count});
}

// A leader that is asked to stop must know a clearly better candidate.
void Cluster::judge_hand_over(std::uint32_t host) {
  if (setup_.faults.resigns_per_s > 0) return;
  const auto known = hosts_[host]->groups.known(kGroup);
  const live::Capacity enough = known->capacity + known->capacity / 10;
  const bool better = std::ranges::any_of(
      known->candidates, [&](const auto& candidate) { return candidate.capacity > enough; });
  outcome_.needless += better ? 0U : 1U;
}

void Cluster::judge_the_end() {
  live::Capacity leads = -1;
  live::Capacity best = 0;
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    const auto known = hosts_[i]->groups.known(kGroup);
    if (known && known->here && users_[i].acts) leads = known->capacity;
    if (known) best = std::max(best, known->capacity);
  }
  if (leads < 0) ++outcome_.leaderless;
  if (leads >= 0 && best > leads + leads / 10) ++outcome_.outdone;
}

Outcome run(const Setup& setup) { return Cluster(setup).run(); }

}  // namespace tempo::sim::groups
