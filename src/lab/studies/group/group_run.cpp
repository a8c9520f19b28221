#include "lab/studies/group/group_run.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "lab/sim/partition.h"
#include "lab/studies/group/group_cluster.h"

namespace tempo::sim::groups {
namespace {

constexpr std::uint32_t kStream = 20;  // index of the stream under Cause::plan
constexpr std::int64_t kBillion = 1'000'000'000;
constexpr Nanos kEpoch = 1000s;  // network time at the start
constexpr const char* kGroup = "web";
const live::UserId kUser{1};

HostId id_of(std::uint32_t host) { return HostId{std::uint64_t{host} << 44 | 1}; }

// Disk of a host that has never run: all hosts vote.
locks::Saved first_disk(std::uint32_t hosts) {
  std::vector<HostId> voters;
  for (std::uint32_t i = 0; i < hosts; ++i) voters.push_back(id_of(i));
  return {.view = locks::first_voters(voters)};
}

Link link_of(const Setup& setup, bool faulty) {
  Link link{.delay = Delay::uniform(setup.delay / 10, setup.delay)};
  if (!faulty) return link;
  link.loss = setup.faults.loss;
  link.duplicate = setup.faults.duplicate;
  link.reorder = setup.faults.late;
  link.lateness = Delay::uniform(0s, 3 * setup.lease);
  return link;
}

const auto wrap = [](const auto& body) { return GroupHost::Message{body}; };

}  // namespace

// --- one host ---

void GroupHost::start(Turn<GroupHost>& turn) {
  const auto start = [](auto& part, auto& inner) { part.start(inner); };
  step_leases(turn, start);
  step_groups(turn, start);
}

void GroupHost::receive(Turn<GroupHost>& turn, NodeId from, const Message& message) {
  if (const auto* body = std::get_if<Leases::Message>(&message))
    step_leases(turn, [&](Leases& leases, auto& inner) { leases.receive(inner, from, *body); });
  else
    step_groups(turn, [&](Groups& groups, auto& inner) {
      groups.receive(inner, from, std::get<Groups::Message>(message));
    });
}

void GroupHost::on_timer(Turn<GroupHost>& turn, TimerId timer) {
  timers().locate(timer, [&]<std::size_t kPart>(Part<kPart>, TimerId own) {
    const auto fire = [&](auto& part, auto& inner) { part.on_timer(inner, own); };
    if constexpr (kPart == 0)
      step_leases(turn, fire);
    else
      step_groups(turn, fire);
  });
}

void GroupHost::command(Turn<GroupHost>& turn, const Command& command) {
  if (const auto* own = std::get_if<Groups::Command>(&command))
    step_groups(turn, [&](Groups& groups, auto& inner) { groups.command(inner, *own); });
  else
    step_leases(turn, [&](Leases& leases, auto& inner) {
      leases.command(inner, std::get<Leases::Command>(command));
    });
}

const char* GroupHost::check() const {
  const char* const broken = leases_.check();
  return broken != nullptr ? broken : groups_.check();
}

// The lease of the group is the only lock; its updates go to the group.
template <class Step>
void GroupHost::step_leases(Turn<GroupHost>& turn, Step step) {
  step_part(turn, leases_, step, [&](const Output<Leases>& output) {
    if (pass_on(turn, output, wrap)) return;
    if (output.kind == OutputKind::persist) return turn.out.persist(output.record);
    const auto* const update = std::get_if<locks::LockUpdate>(&output.notice);
    if (update == nullptr) return;
    step_groups(turn, [&](Groups& groups, auto& inner) {
      groups.command(inner, Groups::LeaseUpdate{update->client, *update});
    });
  });
}

template <class Step>
void GroupHost::step_groups(Turn<GroupHost>& turn, Step step) {
  const auto with_clock = [&](Groups& groups, Turn<Groups>& inner) {
    groups.command(inner,
                   live::NetworkClock{clock_offset(network(turn.now), turn.now), clock_.trusted});
    step(groups, inner);
  };
  step_part(turn, groups_, with_clock, [&](const Output<Groups>& output) {
    if (!pass_on(turn, output, wrap)) on_notice(turn, output.notice);
  });
}

void GroupHost::on_notice(Turn<GroupHost>& turn, const Groups::Notice& notice) {
  const auto command_leases = [&](const Leases::Command& own) { command(turn, Command{own}); };
  if (const auto* acquire = std::get_if<Groups::Acquire>(&notice))
    command_leases(locks::Acquire{
        .client = acquire->client,
        .name = acquire->lock,
        .network_us = static_cast<std::uint64_t>(network(turn.now).time_since_epoch() / 1us)});
  else if (const auto* release = std::get_if<Groups::Release>(&notice))
    command_leases(locks::Release{release->client});
  else
    turn.out.notify(notice);
}

WallTime GroupHost::network(BootTime local) const {
  __extension__ using Wide = __int128;
  const Wide truth = static_cast<Wide>(local.time_since_epoch().count()) * kBillion /
                     (kBillion + clock_.rate.value);
  return WallTime{Nanos{static_cast<Nanos::rep>(truth)} + kEpoch + clock_.error};
}

// --- the run ---

Cluster::Cluster(const Setup& setup)
    : setup_(setup),
      lock_rules_{.lease = setup.lease, .longest = setup.lease, .block = 64},
      users_(setup.hosts),
      inbox_(setup.hosts),
      stream_(setup.seed, std::to_underlying(Cause::plan), kStream),
      world_(
          {.nodes = setup.hosts,
           .seed = setup.seed,
           .link = link_of(setup, true),
           .write = Delay::uniform(Nanos{1}, 1ms)},
          [this](NodeId host, Incarnation incarnation) { return make(host, incarnation); }, *this) {
  CHECK(setup.hosts > 0 && setup.hosts <= lock::lease::kMaxVoters);
  const auto drift = static_cast<std::uint64_t>(lock_rules_.drift.value);
  for (std::uint32_t i = 0; i < setup.hosts; ++i) {
    CHECK(directory_.admit(id_of(i))->node == NodeId{i});
    const Ppb rate{static_cast<std::int64_t>(stream_.below(2 * drift + 1)) -
                   static_cast<std::int64_t>(drift)};
    clocks_.push_back({rate, up_to(setup.clock_error), setup.trusted});
    users_[i].capacity = new_capacity();
    world_.set_rate(NodeId{i}, rate);
    world_.disk(NodeId{i}).set(first_disk(setup.hosts));
  }
}

GroupHost Cluster::make(NodeId host, Incarnation incarnation) {
  return {GroupHost::Leases({.self = id_of(index(host)),
                             .hosts = &directory_,
                             .rules = lock_rules_,
                             .saved = world_.disk(host).record()}),
          GroupHost::Groups({.self = host,
                             .life = incarnation,
                             .hosts = &directory_,
                             .rules = {.lease = setup_.lease}}),
          clocks_[index(host)]};
}

Outcome Cluster::run() {
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) start(i);
  const Faults& faults = setup_.faults;
  plan(Event::Kind::crash, faults.crashes_per_s);
  plan(Event::Kind::pause, faults.pauses_per_s);
  plan(Event::Kind::partition, faults.partitions_per_s);
  plan(Event::Kind::resign, faults.resigns_per_s);
  plan(Event::Kind::flap, faults.flaps_per_s);
  world_.run_until(world_.now() + setup_.faulty);
  faulty_ = false;
  world_.set_partition({});
  world_.set_link(link_of(setup_, false));
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    resume(i);
    start(i);
  }
  world_.run_until(world_.now() + 60 * setup_.lease + 4 * setup_.min_stay);
  judge_the_end();
  return outcome_;
}

Nanos Cluster::up_to(Nanos most) {
  return Nanos{
      static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

// On a ring no candidate is clearly better than another.
live::Capacity Cluster::new_capacity() {
  const std::uint64_t range = live::on_ring(setup_.algorithm) ? 9 : 100;
  return static_cast<live::Capacity>(100 + stream_.below(range));
}

// A paused daemon finds its user's requests when it resumes.
void Cluster::command(std::uint32_t host, const GroupHost::Groups::Command& command) {
  const NodeId id{host};
  if (world_.up(id) && world_.paused(id))
    inbox_[host].push_back(command);
  else
    world_.command(id, command);
}

// --- events ---

void Cluster::happen(const Event& event) {
  using enum Event::Kind;
  const std::uint32_t host = event.host;
  User& user = users_[host];
  switch (event.kind) {
    case Event::Kind::stand:
      return this->stand(host);
    case stopped:
      if (world_.incarnation_count(NodeId{host}) != event.number || !world_.up(NodeId{host}))
        return;
      if (user.acts) end_term(host);
      user.stops = false;
      return command(host, GroupHost::Groups::Stopped{kUser});
    case deadline:
      if (user.term_count != event.number || !user.acts) return;
      if (world_.local_now(NodeId{host}) < user.deadline) return plan_clock_test(host);
      return end_term(host);
    case restart:
      return start(host);
    case Event::Kind::resume:
      return this->resume(host);
    default:
      return fault(event);
  }
}

void Cluster::plan(Event::Kind kind, double per_second) {
  if (per_second <= 0) return;
  const double seconds = stream_.exponential(1 / per_second);
  plan_in(Nanos{static_cast<Nanos::rep>(seconds * 1e9)}, {.kind = kind});
}

void Cluster::fault(const Event& event) {
  using enum Event::Kind;
  if (!faulty_) return;
  const auto victim = static_cast<std::uint32_t>(stream_.below(setup_.hosts));
  const Faults& faults = setup_.faults;
  switch (event.kind) {
    case Event::Kind::crash:
      this->crash(victim);
      return plan(Event::Kind::crash, faults.crashes_per_s);
    case pause:
      world_.pause(NodeId{victim});
      plan_in(up_to(3 * setup_.lease), {.kind = Event::Kind::resume, .host = victim});
      return plan(pause, faults.pauses_per_s);
    case partition: {
      std::vector<bool> side(setup_.hosts);
      for (std::uint32_t i = 0; i < setup_.hosts; ++i) side[i] = stream_.chance(0.5);
      world_.set_partition(partition_between(side));
      plan_in(up_to(10 * setup_.lease), {.kind = heal});
      return plan(partition, faults.partitions_per_s);
    }
    case heal:
      return world_.set_partition({});
    case resign:
      for (std::uint32_t i = 0; i < setup_.hosts; ++i)
        if (world_.up(NodeId{i})) command(i, GroupHost::Groups::Resign{kGroup});
      return plan(resign, faults.resigns_per_s);
    case flap:
      users_[victim].capacity = new_capacity();
      command(victim, GroupHost::Groups::Offer{kUser, users_[victim].capacity});
      return plan(flap, faults.flaps_per_s);
    default:
      return;
  }
}

// --- hosts and users ---

void Cluster::start(std::uint32_t host) {
  if (world_.up(NodeId{host})) return;
  world_.start(NodeId{host});
  users_[host].stands = false;
  plan_in(up_to(setup_.lease / 4), {.kind = Event::Kind::stand, .host = host});
}

void Cluster::crash(std::uint32_t host) {
  if (!world_.up(NodeId{host})) return;
  world_.crash(NodeId{host});
  inbox_[host].clear();
  users_[host].orphan = users_[host].acts;
  users_[host].stops = users_[host].stands = false;
  plan_in(up_to(8 * setup_.lease), {.kind = Event::Kind::restart, .host = host});
}

void Cluster::resume(std::uint32_t host) {
  world_.resume(NodeId{host});
  for (const auto& late : std::exchange(inbox_[host], {})) command(host, late);
}

// A user that still acts for a dead daemon becomes a candidate again after it has stopped.
void Cluster::stand(std::uint32_t host) {
  User& user = users_[host];
  if (user.stands) return;
  if (user.acts || !world_.up(NodeId{host}))
    return plan_in(5ms, {.kind = Event::Kind::stand, .host = host});
  user.stands = true;
  command(host, GroupHost::Groups::Stand{
                    .user = kUser,
                    .group = kGroup,
                    .terms = {live::on_ring(setup_.algorithm) ? live::Criterion::random
                                                              : live::Criterion::weight,
                              setup_.algorithm},
                    .capacity = user.capacity,
                    .min_stay = setup_.min_stay});
}

void Cluster::on_notice(std::uint32_t host, const GroupHost::Notice& notice) {
  if (const auto* update = std::get_if<live::LeadershipUpdate>(&notice)) on_update(host, *update);
  const auto* const refused = std::get_if<live::Refused>(&notice);
  if (refused != nullptr && refused->user) outcome_.broken = "cannot stand";
}

void Cluster::on_update(std::uint32_t host, const live::LeadershipUpdate& update) {
  User& user = users_[host];
  switch (update.kind) {
    case live::LeadershipUpdate::Kind::leads:
      return begin_term(host, update);
    case live::LeadershipUpdate::Kind::extended:
      if (user.acts && !user.orphan && world_.local_now(NodeId{host}) < user.deadline)
        user.deadline = std::max(user.deadline, update.deadline);
      return;
    case live::LeadershipUpdate::Kind::stop:
      if (std::exchange(user.stops, true)) return;
      replaced_ = true;
      judge_hand_over(host);
      return plan_in(up_to(setup_.stopping), {.kind = Event::Kind::stopped,
                                              .host = host,
                                              .number = world_.incarnation_count(NodeId{host})});
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
  if (world_.local_now(NodeId{host}) >= update.deadline) return;  // the notice came too late
  for (const User& other : users_) outcome_.together += other.acts ? 1U : 0U;
  if (update.term <= last_token_) ++outcome_.disorder;
  // A leader that is replaced must have led for min_stay.
  if (std::exchange(replaced_, false) && last_leader_ != host && setup_.faults.resigns_per_s == 0)
    outcome_.hasty += term_ended_ - term_began_ < setup_.min_stay ? 1U : 0U;
  outcome_.longest_gap = std::max(outcome_.longest_gap, world_.now() - term_ended_);
  last_token_ = update.term;
  last_leader_ = host;
  term_began_ = world_.now();
  if (outcome_.reigns++ == 0) outcome_.first = host;
  const auto known = world_.machine(NodeId{host}).groups().known(kGroup);
  outcome_.as_wanted += known->held == setup_.algorithm ? 1U : 0U;
  ++user.term_count;
  user.acts = true;
  user.orphan = false;
  user.deadline = update.deadline;
  plan_clock_test(host);
}

void Cluster::end_term(std::uint32_t host) {
  users_[host].acts = users_[host].orphan = false;
  ++users_[host].term_count;
  term_ended_ = world_.now();
}

void Cluster::plan_clock_test(std::uint32_t host) {
  const Nanos left = users_[host].deadline - world_.local_now(NodeId{host});
  const double span = static_cast<double>(left.count()) * kBillion /
                      static_cast<double>(kBillion + clocks_[host].rate.value);
  plan_in(std::max(Nanos{static_cast<Nanos::rep>(span)}, Nanos{1}),
          {.kind = Event::Kind::deadline, .host = host, .number = users_[host].term_count});
}

// A leader that is asked to stop must know a clearly better candidate.
void Cluster::judge_hand_over(std::uint32_t host) {
  if (setup_.faults.resigns_per_s > 0) return;
  const auto known = world_.machine(NodeId{host}).groups().known(kGroup);
  const live::Capacity enough = known->capacity + known->capacity / 10;
  const bool better = std::ranges::any_of(
      known->candidates, [&](const auto& candidate) { return candidate.capacity > enough; });
  outcome_.needless += better ? 0U : 1U;
}

void Cluster::judge_the_end() {
  live::Capacity leads = -1;
  live::Capacity best = 0;
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    const auto known = world_.machine(NodeId{i}).groups().known(kGroup);
    if (known && known->here && users_[i].acts) leads = known->capacity;
    if (known) best = std::max(best, known->capacity);
  }
  if (leads < 0) ++outcome_.leaderless;
  if (leads >= 0 && best > leads + leads / 10) ++outcome_.outdone;
}

Outcome run(const Setup& setup) { return Cluster(setup).run(); }

}  // namespace tempo::sim::groups
