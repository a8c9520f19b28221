#include "protocol/group/ring_elections.h"

#include <algorithm>
#include <type_traits>
#include <utility>

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

// --- inputs ---

void RingElections::receive(Turn<RingElections>& turn, NodeId from, const Message& envelope) {
  const bool later = envelope.election > here_ && envelope.election >= last_;
  if (later &&
      (envelope.ring != known_.sum || !begin(turn.now, envelope.algorithm, envelope.election)))
    return;
  if (envelope.election != here_ || envelope.algorithm != algorithm_ || envelope.ring != ring_.sum)
    return;
  const NodeId station = station_of(from);
  election::ring::Message message = envelope.message;
  if (message.id != kNobody) message.id = station_of(message.id);
  if (station == kNobody || (message.id == kNobody && envelope.message.id != kNobody)) return;
  step(turn, [&](auto& machine, auto& inner) { machine.receive(inner, station, message); });
}

void RingElections::on_timer(Turn<RingElections>& turn, TimerId /*timer*/) {
  if (began_at_ + 2 * lease_ <= turn.now) station_.emplace<std::monostate>();
  for (int i = 0; i < kMaxWakes && timers().first() <= turn.now; ++i)
    step(turn, [](auto& machine, auto& inner) {
      machine.on_timer(inner, machine.timers().first_name());
    });
}

void RingElections::command(Turn<RingElections>& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void RingElections::on_command(Turn<RingElections>& turn, const Hold& hold) {
  if (under_way(turn.now) || !begin(turn.now, hold.algorithm, last_ + 1)) return;
  step(turn, [](auto& machine, auto& inner) {
    machine.command(inner, std::remove_reference_t<decltype(machine)>::Command::wake);
  });
}

void RingElections::on_command(Turn<RingElections>& /*turn*/, const Learn& learn) {
  last_ = std::max(last_, learn.last);
}

void RingElections::on_command(Turn<RingElections>& /*turn*/, const Ring& ring) { known_ = ring; }

OneTimer<BootTime> RingElections::timers() const {
  BootTime due = kNever;
  with_machine(station_, [&](const auto& machine) {
    due = std::min(machine.timers().first(), began_at_ + 2 * lease_);
  });
  return OneTimer(due);
}

const char* RingElections::check() const {
  const char* broken = nullptr;
  with_machine(station_, [&](const auto& machine) { broken = machine.check(); });
  return broken;
}

// --- helpers ---

bool RingElections::begin(BootTime now, Algorithm algorithm, std::uint32_t number) {
  const auto place = std::ranges::find(known_.members, self_);
  if (place == known_.members.end()) return false;
  const NodeId at{static_cast<std::uint32_t>(place - known_.members.begin())};
  const auto stations = static_cast<std::uint32_t>(known_.members.size());
  last_ = std::max(last_, number);
  here_ = number;
  algorithm_ = algorithm;
  ring_ = known_;
  began_at_ = now;
  if (algorithm == Algorithm::ring)
    station_.emplace<Equitable>(at, incarnation_, equitable_rules(lease_, stations));
  else
    station_.emplace<Anonymous>(at, incarnation_, anonymous_rules(lease_, stations));
  return true;
}

bool RingElections::under_way(BootTime now) const {
  bool undecided = false;
  with_machine(station_, [&](const auto& machine) { undecided = !machine.decided(); });
  return undecided && now < began_at_ + lease_;
}

NodeId RingElections::station_of(NodeId member) const {
  const auto place = std::ranges::lower_bound(ring_.members, member);
  if (place == ring_.members.end() || *place != member) return kNobody;
  return NodeId{static_cast<std::uint32_t>(place - ring_.members.begin())};
}

NodeId RingElections::member_at(NodeId station) const {
  return station == kNobody ? kNobody : ring_.members[index(station)];
}

template <class Variant, class Do>
void RingElections::with_machine(Variant& station, Do todo) {
  if (auto* equitable = std::get_if<Equitable>(&station)) todo(equitable->machine);
  if (auto* anonymous = std::get_if<Anonymous>(&station)) todo(anonymous->machine);
}

template <class Do>
void RingElections::step(Turn<RingElections>& turn, Do todo) {
  with_machine(station_, [&]<class M>(M& machine) {
    step_part(turn, machine, todo, [&](const Output<M>& output) {
      if (output.kind == OutputKind::notice) return on_notice(turn, machine, output.notice);
      RingMessage envelope{
          .algorithm = algorithm_, .election = here_, .ring = ring_.sum, .message = output.message};
      envelope.message.id = member_at(output.message.id);
      turn.out.send(member_at(output.to), envelope);
    });
  });
}

void RingElections::on_notice(Turn<RingElections>& turn, const election::RingElection& machine,
                              const election::ring::Notice& notice) const {
  if (notice.what == election::ring::Notice::What::decided && machine.decided())
    turn.out.notify(Elected{member_at(machine.leader()), algorithm_});
}

void RingElections::on_notice(Turn<RingElections>& turn,
                              const election::AnonymousRingElection& /*machine*/,
                              const election::anonymous::Notice& notice) const {
  using What = election::anonymous::Notice::What;
  if (notice.what == What::elected) turn.out.notify(Elected{self_, algorithm_});
  if (notice.what == What::defeated) turn.out.notify(Defeated{algorithm_});
}

}  // namespace tempo::groups
