#include "protocol/group/ring_elections.h"

#include <algorithm>
#include <type_traits>

namespace tempo::groups {

using election::anonymous::Rules;
using election::ring::EquitableRules;

namespace {

// A message is sent four times in a quarter of a lease; then a station without an answer is
// skipped.
EquitableRules equitable_rules(Nanos lease, std::uint32_t stations) {
  return {.link = {.stations = stations,
                   .courier = {{.interval = lease / 64, .sends = 4}},
                   .probe = lease / 8,
                   .successors = stations}};
}

// A loop takes at most an eighth of a lease, and a phase that elects a leader takes four loops. Two
// stages are few: one time in two they elect both of two candidates that run in step. Then both ask
// for the lease, which costs less than more stages. All four sends of a message are within its
// delay. Clocks count their steps alike to two parts in a thousand.
Rules anonymous_rules(Nanos lease, std::uint32_t stations) {
  const Nanos delay = lease / std::max(32U, 8 * stations);
  const Nanos step = delay / 16;
  return {.link = {.stations = stations,
                   .courier = {{.interval = delay / 8, .sends = 4}},
                   .probe = 4 * delay,
                   .successors = stations},
          .stages = 2,
          .step_min = step - step / 500,
          .step_max = step,
          .delay_max = delay};
}

}  // namespace

void RingElections::hold(Instant now, Draw& draw, Algorithm algorithm, const Ring& ring,
                         Results& results) {
  if (under_way(now) || !begin(now, algorithm, last_ + 1, ring)) return;
  if (auto* equitable = std::get_if<Equitable>(&station_))
    step(equitable->machine, now, draw, results,
         [](auto& machine, auto& turn) { machine.command(turn, election::ring::Command::elect); });
  if (auto* anonymous = std::get_if<Anonymous>(&station_))
    step(anonymous->machine, now, draw, results, [](auto& machine, auto& turn) {
      machine.command(turn, election::anonymous::Command::wake);
    });
}

void RingElections::receive(Instant now, Draw& draw, NodeId from, const RingMessage& envelope,
                            const Ring& ring, Results& results) {
  const bool later = envelope.election > here_ && envelope.election >= last_;
  if (later &&
      (envelope.ring != ring.sum || !begin(now, envelope.algorithm, envelope.election, ring)))
    return;
  if (envelope.election != here_ || envelope.algorithm != algorithm_ || envelope.ring != ring_.sum)
    return;
  const NodeId station = station_of(from);
  election::ring::Message message = envelope.message;
  if (message.id != kNobody) message.id = station_of(message.id);
  if (station == kNobody || (message.id == kNobody && envelope.message.id != kNobody)) return;
  with_station([&](auto& machine) {
    step(machine, now, draw, results,
         [&](auto& inner, auto& turn) { inner.receive(turn, station, message); });
  });
}

void RingElections::on_timer(Instant now, Draw& draw, Results& results) {
  if (began_at_ + 2 * lease_ <= now) station_.emplace<std::monostate>();
  with_station([&](auto& machine) {
    for (int i = 0; i < kMaxWakes && machine.timers().first() <= now; ++i)
      step(machine, now, draw, results,
           [](auto& inner, auto& turn) { inner.on_timer(turn, inner.timers().first_name()); });
  });
}

Instant RingElections::due() const {
  if (const auto* equitable = std::get_if<Equitable>(&station_))
    return std::min(equitable->machine.timers().first(), began_at_ + 2 * lease_);
  if (const auto* anonymous = std::get_if<Anonymous>(&station_))
    return std::min(anonymous->machine.timers().first(), began_at_ + 2 * lease_);
  return kNever;
}

// --- helpers ---

bool RingElections::begin(Instant now, Algorithm algorithm, std::uint32_t number,
                          const Ring& ring) {
  const auto place = std::ranges::find(ring.members, self_);
  if (place == ring.members.end()) return false;
  const NodeId at{static_cast<std::uint32_t>(place - ring.members.begin())};
  const auto stations = static_cast<std::uint32_t>(ring.members.size());
  learn(number);
  here_ = number;
  algorithm_ = algorithm;
  ring_ = ring;
  began_at_ = now;
  if (algorithm == Algorithm::ring)
    station_.emplace<Equitable>(at, incarnation_, equitable_rules(lease_, stations));
  else
    station_.emplace<Anonymous>(at, incarnation_, anonymous_rules(lease_, stations));
  return true;
}

bool RingElections::under_way(Instant now) const {
  if (now >= began_at_ + lease_) return false;
  if (const auto* equitable = std::get_if<Equitable>(&station_))
    return !equitable->machine.decided();
  const auto* anonymous = std::get_if<Anonymous>(&station_);
  return anonymous != nullptr && !anonymous->machine.decided();
}

NodeId RingElections::station_of(NodeId member) const {
  const auto place = std::ranges::lower_bound(ring_.members, member);
  if (place == ring_.members.end() || *place != member) return kNobody;
  return NodeId{static_cast<std::uint32_t>(place - ring_.members.begin())};
}

NodeId RingElections::member_at(NodeId station) const {
  return station == kNobody ? kNobody : ring_.members[index(station)];
}

template <class Do>
void RingElections::with_station(Do todo) {
  if (auto* equitable = std::get_if<Equitable>(&station_)) todo(equitable->machine);
  if (auto* anonymous = std::get_if<Anonymous>(&station_)) todo(anonymous->machine);
}

template <class M, class Do>
void RingElections::step(M& machine, Instant now, Draw& draw, Results& results, Do todo) {
  Outbox<M> out;
  Turn<M> turn{now, draw, out};
  todo(machine, turn);
  for (const auto& output : out) {
    if (output.kind == OutputKind::notice) {
      on_notice(machine, output.notice, results);
      continue;
    }
    results.messages.push_back({.algorithm = algorithm_,
                                .election = here_,
                                .ring = ring_.sum,
                                .to = member_at(output.to),
                                .message = output.message});
    results.messages.back().message.id = member_at(output.message.id);
  }
}

void RingElections::on_notice(const election::RingElection& machine,
                              const election::ring::Notice& notice, Results& results) const {
  using What = election::ring::Notice::What;
  if (notice.what == What::decided && machine.decided())
    results.elected = member_at(machine.leader());
}

void RingElections::on_notice(const election::AnonymousRingElection& /*machine*/,
                              const election::anonymous::Notice& notice, Results& results) const {
  using What = election::anonymous::Notice::What;
  if (notice.what == What::elected) results.elected = self_;
  if (notice.what == What::defeated) results.defeated = true;
}

}  // namespace tempo::groups
