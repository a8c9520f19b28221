#include "protocol/group/service.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

namespace tempo::groups {

std::string lock_of(std::string_view group) { return fmt::format("@group/{}", group); }

// --- sentences ---

std::string sentence_of(const Refused& refused) {
  switch (refused.reason) {
    case Reason::name_length:
      return fmt::format("the group's name must have 1 to {} characters", wire::kMaxGroupName);
    case Reason::name_characters:
      return "the group's name has a space, an '@' or a character that is not printable ASCII; "
             "remove it";
    case Reason::too_many_groups:
      return "too many groups are in use on this machine; try again when some have ended";
    case Reason::second_candidate:
      return fmt::format(
          "this machine already has a candidate for '{}'; only one candidate per machine is "
          "allowed",
          refused.group);
    case Reason::other_criterion:
      return fmt::format("the candidates of '{0}' are compared by {1}; use '--criterion {1}'",
                         refused.group, name_of(refused.criterion));
    case Reason::ring_criterion:
      return fmt::format(
          "an election on a ring gives every candidate the same chance; use '--criterion random', "
          "or '--algorithm b1' to elect by {}",
          name_of(refused.criterion));
    case Reason::no_node_key:
      return "algorithm b2 needs a signing key on each machine, and this one has none; "
             "create it with 'tempo keygen --node' and name it under [groups] in tempo.toml, or "
             "use 'b1'";
    case Reason::too_few_keys:
      return fmt::format(
          "algorithm b2 needs at least {} machines that sign, and the key list under [groups] has "
          "{}; add keys, or use 'b1'",
          kMinMembers, refused.members);
    case Reason::not_leader:
      return fmt::format(
          "this machine does not lead '{0}'; run 'tempo leader {0}' to see the leader",
          refused.group);
  }
  CHECK(false);
  return {};
}

std::string sentence_of(const AlgorithmReplaced& replaced) {
  return fmt::format(
      "network time is not accurate enough for algorithm {}; using algorithm {} until it is",
      name_of(replaced.wanted), name_of(replaced.held));
}

std::optional<Reason> wrong_with_name(std::string_view name) {
  if (name.empty() || name.size() > wire::kMaxGroupName) return Reason::name_length;
  const auto plain = [](char c) { return c > ' ' && c <= '~' && c != '@'; };
  if (!std::ranges::all_of(name, plain)) return Reason::name_characters;
  return std::nullopt;
}

GroupService::GroupService(const Start& start)
    : start_(start), bounds_(std::make_unique<const ElectionBounds>(start.rules.lease)) {}

// --- commands of users ---

void GroupService::command(Turn<GroupService>& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void GroupService::on_command(Turn<GroupService>& turn, const Stand& stand) {
  Refused refused{.user = stand.user, .group = stand.group};
  const auto refuse = [&](Reason reason) {
    refused.reason = reason;
    turn.out.notify(refused);
  };
  if (const auto wrong = wrong_with_name(stand.group)) return refuse(*wrong);
  if (on_ring(stand.terms.algorithm) && stand.terms.criterion != Criterion::random) {
    refused.criterion = stand.terms.criterion;
    return refuse(Reason::ring_criterion);
  }
  if (stand.terms.algorithm == Algorithm::b2 && !can_sign(start_)) {
    if (start_.node_keys == nullptr) return refuse(Reason::no_node_key);
    refused.members = start_.node_keys->members();
    return refuse(Reason::too_few_keys);
  }
  const Place place = find_or_create(turn.now, stand.group);
  if (place == groups_.end()) return refuse(Reason::too_many_groups);
  Group& group = place->second;
  if (group.user) return refuse(Reason::second_candidate);
  group.leadership.forget_silent(turn.now);
  refused.criterion = group.terms.criterion;
  if (refused.criterion != stand.terms.criterion && !group.leadership.candidates().empty())
    return refuse(Reason::other_criterion);
  group.terms = stand.terms;
  group.user = stand.user;
  group.session = stand.session;
  lead(turn, place,
       {.kind = Leadership::Command::Kind::stand,
        .capacity = stand.capacity,
        .min_stay = stand.min_stay,
        .once = stand.once});
  if (stand.lead && stand.session.number != 0 && !group.client)
    resume_lease(turn, place, *stand.lead);
}

void GroupService::on_command(Turn<GroupService>& turn, const Offer& offer) {
  const Place place = find(offer.user);
  if (place != groups_.end())
    lead(turn, place, {.kind = Leadership::Command::Kind::offer, .capacity = offer.capacity});
}

void GroupService::on_command(Turn<GroupService>& turn, const Stopped& stopped) {
  const Place place = find(stopped.user);
  if (place != groups_.end()) lead(turn, place, {.kind = Leadership::Command::Kind::stopped});
}

void GroupService::on_command(Turn<GroupService>& turn, const Withdraw& withdraw) {
  const Place place = find(withdraw.user);
  if (place == groups_.end()) return;
  place->second.user.reset();  // it gets no further updates
  if (place->second.resuming) release_lease(turn, place->second);
  using Kind = Leadership::Command::Kind;
  lead(turn, place, {.kind = withdraw.job_done ? Kind::finish : Kind::withdraw});
}

void GroupService::on_command(Turn<GroupService>& turn, const Resign& resign) {
  const Place place = groups_.find(resign.group);
  if (place == groups_.end() || !place->second.leadership.acts())
    return turn.out.notify(Refused{.group = resign.group, .reason = Reason::not_leader});
  lead(turn, place, {.kind = Leadership::Command::Kind::resign});
}

// --- the lock, network time ---

void GroupService::on_command(Turn<GroupService>& turn, const LeaseUpdate& lease) {
  const Place place = find(lease.client);
  if (place == groups_.end()) return;
  Group& group = place->second;
  switch (lease.update.kind) {
    case locks::LockUpdate::Kind::granted: {
      using Kind = Leadership::Command::Kind;
      group.deadline = lease.update.deadline;
      group.origin = lease.update.origin;
      const bool resumed = std::exchange(group.resuming, false);
      return lead(turn, place,
                  {.kind = resumed ? Kind::resumed : Kind::granted, .token = lease.update.token});
    }
    case locks::LockUpdate::Kind::extended:
      group.deadline = lease.update.deadline;
      return notify(turn, group,
                    {.kind = LeadershipUpdate::Kind::extended, .deadline = lease.update.deadline});
    case locks::LockUpdate::Kind::lost:
    case locks::LockUpdate::Kind::refused:
      return end_lease(turn, place);
  }
}

// A lead that cannot be resumed ends for its user; it is a candidate like the others.
void GroupService::end_lease(Turn<GroupService>& turn, Place place) {
  Group& group = place->second;
  group.client.reset();
  if (std::exchange(group.resuming, false))
    return notify(turn, group, {.kind = LeadershipUpdate::Kind::lost});
  lead(turn, place, {.kind = Leadership::Command::Kind::lost});
}

// As if no voter answered.
void GroupService::on_command(Turn<GroupService>& turn, const LeaseRefused& refused) {
  const Place place = find(refused.client);
  if (place == groups_.end()) return;
  if (place->second.resuming) return end_lease(turn, place);
  place->second.client.reset();
}

void GroupService::on_command(Turn<GroupService>& /*turn*/, const NetworkClock& clock) {
  clock_ = clock;
}

// --- other hosts ---

void GroupService::receive(Turn<GroupService>& turn, NodeId from, const Message& body) {
  const std::optional<GroupMessage> received = message_of(body, *start_.hosts);
  const bool long_delay = body.delay > 10 * start_.rules.lease;
  const bool valid =
      from != kNobody && received && !long_delay && !wrong_with_name(body.name.text());
  const Place place = valid ? find_or_create(turn.now, body.name.text()) : groups_.end();
  if (place == groups_.end()) {
    ++dropped_;
    return;
  }
  std::visit([&](const auto& message) { on_message(turn, place, from, message); }, *received);
}

void GroupService::on_message(Turn<GroupService>& turn, Place place, NodeId from,
                              const ReceivedHeartbeat& received) {
  Group& group = place->second;
  if (!group.user) group.terms = received.terms;
  command_elections(turn, place, group.rings, RingElections::Learn{received.last_on_ring});
  step(turn, place, [&](Leadership& leadership, auto& inner) {
    leadership.receive(inner, from, received.heartbeat);
  });
}

void GroupService::on_message(Turn<GroupService>& turn, Place place, NodeId from,
                              const ElectionMessage& message) {
  step_elections(turn, place, place->second.elections,
                 [&](auto& elections, auto& inner) { elections.receive(inner, from, message); });
}

void GroupService::on_message(Turn<GroupService>& turn, Place place, NodeId from,
                              const RingMessage& message) {
  command_elections(turn, place, place->second.rings, ring_of(place->second));
  step_elections(turn, place, place->second.rings,
                 [&](auto& rings, auto& inner) { rings.receive(inner, from, message); });
}

void GroupService::on_message(Turn<GroupService>& turn, Place place, NodeId from,
                              const SignedMessage& message) {
  if (place->second.signs)
    step_elections(turn, place, *place->second.signs,
                   [&](auto& signs, auto& inner) { signs.receive(inner, from, message); });
}

// --- time ---

void GroupService::on_timer(Turn<GroupService>& turn, TimerId timer) {
  const auto wake = [&](auto& elections, auto& inner) { elections.on_timer(inner, timer); };
  for (Place place = groups_.begin(); place != groups_.end(); ++place) {
    Group& group = place->second;
    group.leadership.forget_silent(turn.now);
    for (std::size_t i = 0; i < Timers<Timer>::size(); ++i) {  // each timer at most once
      const auto due = first_due(group.leadership.timers(), turn.now);
      if (!due) break;
      step(turn, place,
           [&](Leadership& leadership, auto& inner) { leadership.on_timer(inner, *due); });
    }
    step_elections(turn, place, group.elections, wake);
    step_elections(turn, place, group.rings, wake);
    if (group.signs) step_elections(turn, place, *group.signs, wake);
  }
  forget_idle(turn.now);
}

OneTimer<BootTime> GroupService::timers() const {
  BootTime due = kNever;
  for (const auto& [name, group] : groups_)
    due = std::min({due, group.leadership.timers().first(), group.leadership.next_silent(),
                    group.elections.timers().first(), group.rings.timers().first(),
                    group.signs ? group.signs->timers().first() : kNever});
  return OneTimer(due);
}

// --- leadership ---

template <class Do>
void GroupService::step(Turn<GroupService>& turn, Place place, Do todo) {
  Group& group = place->second;
  const NodeId leader = group.leadership.leader();
  const auto body = [&](const Heartbeat& heartbeat) {
    return body_of(place->first, {heartbeat, group.terms, group.rings.last()}, *start_.hosts);
  };
  step_part(turn, group.leadership, todo, [&](const Output<Leadership>& output) {
    if (!pass_on(turn, output, body)) on_notice(turn, place, output.notice);
  });
  if (group.leadership.leader() != leader) turn.out.notify(LeaderChanged{place->first});
}

void GroupService::lead(Turn<GroupService>& turn, Place place, const Leadership::Command& command) {
  step(turn, place,
       [&](Leadership& leadership, auto& inner) { leadership.command(inner, command); });
}

void GroupService::on_notice(Turn<GroupService>& turn, Place place,
                             const Leadership::Notice& notice) {
  Group& group = place->second;
  using Kind = Leadership::Notice::Kind;
  using Update = LeadershipUpdate::Kind;
  const HostId host = start_.hosts->host_of(notice.node);
  const OfferCapacity offer{notice.capacity};
  switch (notice.kind) {
    case Kind::hold:
      return hold(turn, place);
    case Kind::offer:
      if (group.signs) command_elections(turn, place, *group.signs, offer);
      return command_elections(turn, place, group.elections, offer);
    case Kind::ask:
      return request_lease(turn, place);
    case Kind::drop:
      return release_lease(turn, group);
    case Kind::leads:
      return notify(turn, group,
                    {.kind = Update::leads,
                     .term = notice.token,
                     .deadline = group.deadline,
                     .origin = group.origin});
    case Kind::stop:
      return notify(turn, group, {.kind = Update::stop, .deadline = group.deadline});
    case Kind::lost:
      return notify(turn, group, {.kind = Update::lost});
    case Kind::follows:
      return notify(turn, group, {.kind = Update::follows, .term = notice.token, .host = host});
    case Kind::no_majority:
      return notify(turn, group, {.kind = Update::no_majority});
    case Kind::job_done:
      notify(turn, group, {.kind = Update::job_done, .host = host});
      group.user.reset();
      return;
  }
}

void GroupService::notify(Turn<GroupService>& turn, const Group& group, LeadershipUpdate update) {
  if (!group.user) return;
  update.user = *group.user;
  turn.out.notify(update);
}

void GroupService::request_lease(Turn<GroupService>& turn, Place place) {
  Group& group = place->second;
  release_lease(turn, group);
  group.client = locks::ClientId{locks::kGroupBit | (++last_client_ & ~locks::kGroupBit)};
  turn.out.notify(Acquire{*group.client, lock_of(place->first), group.session});
}

void GroupService::resume_lease(Turn<GroupService>& turn, Place place, const Lead& lead) {
  Group& group = place->second;
  group.client = locks::ClientId{locks::kGroupBit | (++last_client_ & ~locks::kGroupBit)};
  group.resuming = true;
  turn.out.notify(Resume{*group.client, lock_of(place->first), group.session, lead});
}

void GroupService::release_lease(Turn<GroupService>& turn, Group& group) {
  group.resuming = false;
  if (const auto client = std::exchange(group.client, std::nullopt))
    turn.out.notify(Release{*client});
}

// --- elections ---

void GroupService::hold(Turn<GroupService>& turn, Place place) {
  Group& group = place->second;
  const Algorithm wanted = group.terms.algorithm;
  group.held.reset();
  if (on_ring(wanted)) {
    command_elections(turn, place, group.rings, ring_of(group));
    return command_elections(turn, place, group.rings, RingElections::Hold{wanted});
  }
  if (wanted == Algorithm::b2 && group.signs && clock_.trusted) {
    group.replaced = false;
    return command_elections(turn, place, *group.signs, SignedElections::Hold{});
  }
  command_elections(turn, place, group.elections, Elections::Hold{wanted});
}

template <class M>
void GroupService::command_elections(Turn<GroupService>& turn, Place place, M& elections,
                                     const typename M::Command& command) {
  step_elections(turn, place, elections,
                 [&](M& machine, Turn<M>& inner) { machine.command(inner, command); });
}

// Leadership gets the result after all other outputs of the step; of several results the last
// counts.
template <class M, class Do>
void GroupService::step_elections(Turn<GroupService>& turn, Place place, M& elections, Do todo) {
  const auto body = [&](const auto& message) {
    return body_of(place->first, message, *start_.hosts);
  };
  const auto clocked = [&](M& machine, Turn<M>& inner) {
    if constexpr (!std::is_same_v<M, RingElections>) machine.command(inner, clock_);
    todo(machine, inner);
  };
  step_part(turn, elections, clocked, [&](const Outbox<M>& out) {
    const ElectionNotice* result = nullptr;
    for (const Output<M>& output : out) {
      if (pass_on(turn, output, body)) continue;
      if (const auto* holds = std::get_if<Holds>(&output.notice))
        on_held(turn, place, holds->algorithm);
      else
        result = &output.notice;
    }
    if (result != nullptr) on_result(turn, place, *result);
  });
}

void GroupService::on_held(Turn<GroupService>& turn, Place place, Algorithm held) {
  Group& group = place->second;
  const Algorithm wanted = group.terms.algorithm;
  const bool replaced_before = std::exchange(group.replaced, held != wanted);
  if (group.replaced && !replaced_before)
    turn.out.notify(AlgorithmReplaced{place->first, wanted, held});
}

void GroupService::on_result(Turn<GroupService>& turn, Place place, const ElectionNotice& result) {
  using Kind = Leadership::Command::Kind;
  if (const auto* elected = std::get_if<Elected>(&result)) {
    place->second.held = elected->algorithm;
    lead(turn, place, {.kind = Kind::elected, .node = elected->node});
  } else if (const auto* defeated = std::get_if<Defeated>(&result)) {
    place->second.held = defeated->algorithm;
    lead(turn, place, {.kind = Kind::defeated});
  } else {
    lead(turn, place, {.kind = Kind::elected});
  }
}

// The candidates known here, in ascending order of their numbers, which is the order of their ids.
Ring GroupService::ring_of(const Group& group) const {
  Ring ring;
  for (const Leadership::Candidate& one : group.leadership.candidates())
    ring.members.push_back(one.bid.node);
  if (group.leadership.eligible())
    ring.members.insert(std::ranges::lower_bound(ring.members, start_.self), start_.self);
  for (const NodeId member : ring.members)
    ring.sum += std::to_underlying(start_.hosts->host_of(member));
  return ring;
}

// --- the map of groups ---

GroupService::Place GroupService::find_or_create(BootTime now, std::string_view name) {
  const Place found = groups_.find(name);
  if (found != groups_.end()) return found;
  if (groups_.size() >= kMaxGroups) forget_idle(now);
  if (groups_.size() >= kMaxGroups) return groups_.end();
  return groups_.try_emplace(std::string(name), name, start_, *bounds_).first;
}

GroupService::Place GroupService::find(UserId user) {
  return std::ranges::find_if(groups_,
                              [&](const auto& entry) { return entry.second.user == user; });
}

GroupService::Place GroupService::find(locks::ClientId client) {
  return std::ranges::find_if(groups_,
                              [&](const auto& entry) { return entry.second.client == client; });
}

void GroupService::forget_idle(BootTime now) {
  std::erase_if(groups_, [&](const auto& entry) {
    return !entry.second.user && !entry.second.client && entry.second.leadership.forgettable(now);
  });
}

// --- for users ---

Known GroupService::snapshot_of(const std::string& name, const Group& group) const {
  const Leadership& leadership = group.leadership;
  Known known{.name = name, .terms = group.terms};
  known.leader = start_.hosts->host_of(leadership.leader());
  known.term = leadership.leader() == kNobody ? kNoToken : leadership.term();
  known.here = leadership.acts();
  known.stands = leadership.stands();
  known.state = name_of(leadership.state());
  known.held = group.held;
  if (known.stands) known.capacity = leadership.capacity();
  for (const Leadership::Candidate& one : leadership.candidates())
    known.candidates.push_back({start_.hosts->host_of(one.bid.node), one.bid.capacity});
  return known;
}

std::vector<Known> GroupService::known() const {
  std::vector<Known> all;
  for (const auto& [name, group] : groups_) all.push_back(snapshot_of(name, group));
  return all;
}

std::optional<Known> GroupService::known(std::string_view name) const {
  const auto found = groups_.find(name);
  if (found == groups_.end()) return std::nullopt;
  return snapshot_of(found->first, found->second);
}

const char* GroupService::check() const {
  for (const auto& [name, group] : groups_)
    for (const char* broken : {group.leadership.check(), group.elections.check(),
                               group.rings.check(), group.signs ? group.signs->check() : nullptr})
      if (broken != nullptr) return broken;
  return nullptr;
}

}  // namespace tempo::groups
