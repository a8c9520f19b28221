#include "protocol/group/service.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace tempo::groups {

std::optional<std::string> wrong_with_name(std::string_view name) {
  if (name.empty() || name.size() > wire::kMaxGroupName)
    return fmt::format("the group's name must have 1 to {} characters", wire::kMaxGroupName);
  const auto plain = [](char c) { return c > ' ' && c <= '~' && c != '@'; };
  if (!std::ranges::all_of(name, plain))
    return "the group's name has a space, an '@' or a character that is not printable ASCII; "
           "remove it";
  return std::nullopt;
}

std::string lock_of(std::string_view group) { return fmt::format("@group/{}", group); }

Service::Service(Start start, Draw& draw, Driver& driver)
    : start_(std::move(start)), bounds_(start_.rules.lease), draw_(&draw), driver_(&driver) {}

// --- users ---

Result<void> Service::stand(const Moment& moment, const Candidacy& candidacy) {
  if (const auto wrong = wrong_with_name(candidacy.group)) return std::unexpected(*wrong);
  if (const auto wrong = wrong_with_terms(candidacy.terms)) return std::unexpected(*wrong);
  const auto place = find_or_create(moment.now, candidacy.group);
  if (!place)
    return std::unexpected(
        "too many groups are in use on this machine; try again when some have ended");
  Group& group = (*place)->second;
  if (group.user)
    return std::unexpected(fmt::format(
        "this machine already has a candidate for '{}'; only one candidate per machine is allowed",
        candidacy.group));
  group.leadership.forget_silent(moment.now);
  const bool others = !group.leadership.candidates().empty();
  if (others && group.terms.criterion != candidacy.terms.criterion)
    return std::unexpected(
        fmt::format("the candidates of '{0}' are compared by {1}; use '--criterion {1}'",
                    candidacy.group, name_of(group.terms.criterion)));
  group.terms = candidacy.terms;
  group.user = candidacy.user;
  command(moment, *place,
          {.kind = Command::Kind::stand,
           .capacity = candidacy.capacity,
           .min_stay = candidacy.min_stay,
           .once = candidacy.once});
  return {};
}

std::optional<std::string> Service::wrong_with_terms(const Terms& terms) const {
  if (on_ring(terms.algorithm) && terms.criterion != Criterion::random)
    return fmt::format(
        "an election on a ring gives every candidate the same chance; use '--criterion random', or "
        "'--algorithm b1' to elect by {}",
        name_of(terms.criterion));
  if (terms.algorithm != Algorithm::b2 || can_sign(start_)) return std::nullopt;
  if (start_.node_keys == nullptr)
    return "algorithm b2 needs a signing key on each machine, and this one has none; "
           "create it with 'tempo keygen --node' and name it under [groups] in tempo.toml, or use "
           "'b1'";
  return fmt::format(
      "algorithm b2 needs at least {} machines that sign, and the key list under [groups] has {}; "
      "add keys, or use 'b1'",
      kMinMembers, start_.node_keys->members());
}

void Service::offer(const Moment& moment, UserId user, Capacity capacity) {
  const Place place = of(user);
  if (place != groups_.end())
    command(moment, place, {.kind = Command::Kind::offer, .capacity = capacity});
}

void Service::stopped(const Moment& moment, UserId user) {
  const Place place = of(user);
  if (place != groups_.end()) command(moment, place, {.kind = Command::Kind::stopped});
}

void Service::withdraw(const Moment& moment, UserId user, bool job_done) {
  const Place place = of(user);
  if (place == groups_.end()) return;
  place->second.user.reset();  // it gets no further updates
  command(moment, place, {.kind = job_done ? Command::Kind::finish : Command::Kind::withdraw});
}

Result<void> Service::resign(const Moment& moment, std::string_view group) {
  const Place place = groups_.find(group);
  if (place == groups_.end() || !place->second.leadership.acts())
    return std::unexpected(fmt::format(
        "this machine does not lead '{0}'; run 'tempo leader {0}' to see the leader", group));
  command(moment, place, {.kind = Command::Kind::resign});
  return {};
}

// --- other hosts, the lock, time ---

void Service::receive(const Moment& moment, HostId from, const wire::GroupBody& body) {
  const NodeId sender = start_.hosts.number_of(from);
  const std::optional<GroupMessage> received = message_of(body, start_.hosts);
  const bool long_delay = body.delay > 10 * start_.rules.lease;
  if (sender == kNobody || !received || long_delay || wrong_with_name(body.name.text())) {
    ++dropped_;
    return;
  }
  const auto place = find_or_create(moment.now, body.name.text());
  if (!place) {
    ++dropped_;
    return;
  }
  Group& group = (*place)->second;
  if (const auto* heartbeat = std::get_if<ReceivedHeartbeat>(&*received)) {
    if (!group.user) group.terms = heartbeat->terms;
    group.rings.learn(heartbeat->last_on_ring);
    step(moment, *place, [&](Turn<Leadership>& turn) {
      group.leadership.receive(turn, sender, heartbeat->heartbeat);
    });
  } else if (const auto* signed_message = std::get_if<SignedMessage>(&*received)) {
    if (group.signs)
      run_signed(moment, *place, [&](SignedElections::Results& results) {
        group.signs->receive(moment, *draw_, *signed_message, results);
      });
  } else if (const auto* ring_message = std::get_if<RingMessage>(&*received)) {
    run_ring(moment, *place, [&](RingElections::Results& results) {
      group.rings.receive(moment.now, *draw_, sender, *ring_message, ring_of(group), results);
    });
  } else {
    run_election(moment, *place, [&](Elections::Results& results) {
      group.elections.receive(moment, *draw_, sender, std::get<ElectionMessage>(*received),
                              results);
    });
  }
}

void Service::receive_lock(const Moment& moment, locks::ClientId client,
                           const locks::LockUpdate& update) {
  const auto place = std::ranges::find_if(
      groups_, [&](const auto& entry) { return entry.second.client == client; });
  if (place == groups_.end()) return;
  Group& group = place->second;
  switch (update.kind) {
    case locks::LockUpdate::Kind::granted:
      group.deadline = update.deadline;
      command(moment, place, {.kind = Command::Kind::granted, .token = update.token});
      break;
    case locks::LockUpdate::Kind::extended:
      group.deadline = update.deadline;
      notify(group, {.kind = LeadershipUpdate::Kind::extended, .deadline = update.deadline});
      break;
    case locks::LockUpdate::Kind::lost:
    case locks::LockUpdate::Kind::refused:
      group.client.reset();
      command(moment, place, {.kind = Command::Kind::lost});
      break;
  }
}

void Service::on_timer(const Moment& moment) {
  for (Place place = groups_.begin(); place != groups_.end(); ++place) {
    Group& group = place->second;
    group.leadership.forget_silent(moment.now);
    for (std::size_t i = 0; i < Timers<Timer>::size(); ++i) {  // each timer at most once
      if (group.leadership.timers().first() > moment.now) break;
      step(moment, place, [&](Turn<Leadership>& turn) {
        group.leadership.on_timer(turn, group.leadership.timers().first_name());
      });
    }
    run_election(moment, place, [&](Elections::Results& results) {
      group.elections.on_timer(moment, *draw_, results);
    });
    run_ring(moment, place, [&](RingElections::Results& results) {
      group.rings.on_timer(moment.now, *draw_, results);
    });
    if (group.signs)
      run_signed(moment, place, [&](SignedElections::Results& results) {
        group.signs->on_timer(moment, *draw_, results);
      });
  }
  forget_idle(moment.now);
}

std::optional<Nanos> Service::due_in(const Moment& moment) const {
  std::optional<Nanos> due;
  const auto consider = [&](Nanos wait) { due = due ? std::min(*due, wait) : wait; };
  for (const auto& [name, group] : groups_) {
    for (const Instant first :
         {group.leadership.timers().first(), group.leadership.next_silent(), group.rings.due()})
      if (first != kNever) consider(std::max(first - moment.now, Nanos{0}));
    if (const auto wait = group.elections.due_in(moment)) consider(*wait);
    if (const auto wait = group.signs ? group.signs->due_in(moment) : std::nullopt) consider(*wait);
  }
  return due;
}

// --- outputs of leadership ---

template <class Do>
void Service::step(const Moment& moment, Place place, Do todo) {
  const NodeId leader = place->second.leadership.leader();
  Outbox<Leadership> outbox;
  Turn<Leadership> turn{moment.now, *draw_, outbox};
  todo(turn);
  carry_out(moment, place, outbox);
  if (place->second.leadership.leader() != leader) driver_->changed(place->first);
}

void Service::command(const Moment& moment, Place place, const Command& command) {
  step(moment, place,
       [&](Turn<Leadership>& turn) { place->second.leadership.command(turn, command); });
}

void Service::carry_out(const Moment& moment, Place place, const Outbox<Leadership>& outbox) {
  for (const auto& output : outbox) {
    if (output.kind == OutputKind::notice)
      on_notice(moment, place, output.notice);
    else
      driver_->broadcast(body_of(place->first,
                                 {output.message, place->second.terms, place->second.rings.last()},
                                 start_.hosts));
  }
}

void Service::on_notice(const Moment& moment, Place place, const Notice& notice) {
  Group& group = place->second;
  using Kind = Notice::Kind;
  switch (notice.kind) {
    case Kind::hold:
      return hold(moment, place);
    case Kind::offer:
      if (group.signs) group.signs->offer(notice.capacity);
      return run_election(moment, place, [&](Elections::Results& results) {
        group.elections.offer(moment, *draw_, notice.capacity, results);
      });
    case Kind::ask:
      return request_lease(place);
    case Kind::drop:
      return release_lease(group);
    case Kind::leads:
      return notify(group, {.kind = LeadershipUpdate::Kind::leads,
                            .term = notice.token,
                            .deadline = group.deadline});
    case Kind::stop:
      return notify(group, {.kind = LeadershipUpdate::Kind::stop, .deadline = group.deadline});
    case Kind::lost:
      return notify(group, {.kind = LeadershipUpdate::Kind::lost});
    case Kind::follows:
      return notify(group,
                    {.kind = LeadershipUpdate::Kind::follows,
                     .term = notice.token,
                     .host = notice.node == kNobody ? kNoHost : start_.hosts.host_of(notice.node)});
    case Kind::no_majority:
      return notify(group, {.kind = LeadershipUpdate::Kind::no_majority});
    case Kind::job_done:
      notify(group,
             {.kind = LeadershipUpdate::Kind::job_done, .host = start_.hosts.host_of(notice.node)});
      group.user.reset();
      return;
  }
}

void Service::hold(const Moment& moment, Place place) {
  Group& group = place->second;
  group.held.reset();
  if (on_ring(group.terms.algorithm))
    return run_ring(moment, place, [&](RingElections::Results& results) {
      group.rings.hold(moment.now, *draw_, group.terms.algorithm, ring_of(group), results);
    });
  if (group.terms.algorithm == Algorithm::b2 && group.signs && moment.trusted) {
    group.by_c = false;
    return run_signed(moment, place, [&](SignedElections::Results& results) {
      group.signs->hold(moment, *draw_, results);
    });
  }
  Algorithm held = group.terms.algorithm;
  run_election(moment, place, [&](Elections::Results& results) {
    held = group.elections.hold(moment, *draw_, group.terms.algorithm, results);
  });
  const bool by_c = held != group.terms.algorithm;
  if (by_c && !group.by_c)
    driver_->not_as_wanted(place->first,
                           fmt::format("network time is not accurate enough for algorithm {}; "
                                       "using algorithm {} until it is",
                                       name_of(group.terms.algorithm), name_of(held)));
  group.by_c = by_c;
}

// Leadership gets the result after all other outputs of the step.
template <class Do>
void Service::run_election(const Moment& moment, Place place, Do todo) {
  Elections::Results results;
  todo(results);
  for (const ElectionMessage& message : results.messages)
    driver_->broadcast(body_of(place->first, message, start_.hosts));
  if (!results.elected) return;
  if (*results.elected != kNobody) place->second.held = results.by;
  command(moment, place, {.kind = Command::Kind::elected, .node = *results.elected});
}

template <class Do>
void Service::run_ring(const Moment& moment, Place place, Do todo) {
  RingElections::Results results;
  todo(results);
  for (const RingMessage& message : results.messages)
    driver_->send(start_.hosts.host_of(message.to), body_of(place->first, message, start_.hosts));
  if (!results.elected && !results.defeated) return;
  place->second.held = place->second.rings.algorithm();
  if (results.elected)
    command(moment, place, {.kind = Command::Kind::elected, .node = *results.elected});
  else
    command(moment, place, {.kind = Command::Kind::defeated});
}

template <class Do>
void Service::run_signed(const Moment& moment, Place place, Do todo) {
  SignedElections::Results results;
  todo(results);
  for (const SignedMessage& message : results.messages)
    driver_->broadcast(body_of(place->first, message));
  if (results.elected || results.defeated) place->second.held = Algorithm::b2;
  if (results.elected)
    command(moment, place, {.kind = Command::Kind::elected, .node = start_.self});
  else if (results.defeated)
    command(moment, place, {.kind = Command::Kind::defeated});
  else if (results.nothing)
    command(moment, place, {.kind = Command::Kind::elected});
}

// The candidates known here, in ascending order of their numbers, which is the order of their ids.
Ring Service::ring_of(const Group& group) const {
  Ring ring;
  for (const Leadership::Candidate& one : group.leadership.candidates())
    ring.members.push_back(one.bid.node);
  if (group.leadership.eligible())
    ring.members.insert(std::ranges::lower_bound(ring.members, start_.self), start_.self);
  for (const NodeId member : ring.members)
    ring.sum += std::to_underlying(start_.hosts.host_of(member));
  return ring;
}

void Service::request_lease(Place place) {
  Group& group = place->second;
  release_lease(group);
  const locks::ClientId client{locks::kGroupBit | (++last_client_ & ~locks::kGroupBit)};
  group.client = client;
  if (driver_->acquire(client, lock_of(place->first))) return;
  group.client.reset();  // this host has no locks: as if no voter answered
}

void Service::release_lease(Group& group) {
  if (const auto client = std::exchange(group.client, std::nullopt)) driver_->release(*client);
}

void Service::notify(const Group& group, const LeadershipUpdate& update) {
  if (group.user) driver_->notify(*group.user, update);
}

// --- helpers ---

std::optional<Service::Place> Service::find_or_create(Instant now, std::string_view name) {
  const Place found = groups_.find(name);
  if (found != groups_.end()) return found;
  if (groups_.size() >= kMaxGroups) forget_idle(now);
  if (groups_.size() >= kMaxGroups) return std::nullopt;
  return groups_.try_emplace(std::string(name), name, start_, bounds_).first;
}

Service::Place Service::of(UserId user) {
  return std::ranges::find_if(groups_,
                              [&](const auto& entry) { return entry.second.user == user; });
}

void Service::forget_idle(Instant now) {
  std::erase_if(groups_, [&](const auto& entry) {
    return !entry.second.user && !entry.second.client && entry.second.leadership.forgettable(now);
  });
}

// --- for users ---

Known Service::snapshot_of(const std::string& name, const Group& group) const {
  const Leadership& leadership = group.leadership;
  Known known{.name = name, .terms = group.terms};
  known.leader =
      leadership.leader() == kNobody ? kNoHost : start_.hosts.host_of(leadership.leader());
  known.term = leadership.leader() == kNobody ? kNoToken : leadership.term();
  known.here = leadership.acts();
  known.stands = leadership.stands();
  known.state = name_of(leadership.state());
  known.held = group.held;
  if (known.stands) known.capacity = leadership.capacity();
  for (const Leadership::Candidate& one : leadership.candidates())
    known.candidates.push_back({start_.hosts.host_of(one.bid.node), one.bid.capacity});
  return known;
}

std::vector<Known> Service::known() const {
  std::vector<Known> all;
  for (const auto& [name, group] : groups_) all.push_back(snapshot_of(name, group));
  return all;
}

std::optional<Known> Service::known(std::string_view name) const {
  const auto found = groups_.find(name);
  if (found == groups_.end()) return std::nullopt;
  return snapshot_of(found->first, found->second);
}

const char* Service::check() const {
  for (const auto& [name, group] : groups_)
    if (const char* broken = group.leadership.check()) return broken;
  return nullptr;
}

}  // namespace tempo::groups
