#include "protocol/group/elections.h"

#include <algorithm>
#include <type_traits>

namespace tempo::groups {

using election::CapacityA;
using election::CapacityB1;
using election::CapacityC;
using CapacityCommand = election::capacity::Command;
using CapacityNotice = election::capacity::Notice;

namespace {

broadcast::Rules ordered_rules(Nanos lease) {
  return {.members = kMaxNodes,
          .delay = lease / 32,
          .precision = lease / 64,
          .faulty = 1};  // a member that received a message relays it to those that missed it
}

ElectionNotice notice_of(const CapacityNotice& notice, Algorithm algorithm) {
  if (notice.kind != CapacityNotice::Kind::elected || notice.master == kNobody) return NoResult{};
  return Elected{notice.master, algorithm};
}

}  // namespace

ElectionBounds::ElectionBounds(Nanos lease)
    : ordered(ordered_rules(lease)),
      known{.members = kMaxNodes, .bound = ordered.bound()},
      lossy{.members = kMaxNodes, .bound = lease / 32} {}

Elections::Elections(NodeId self, Incarnation incarnation, const ElectionBounds& bounds)
    : self_(self),
      incarnation_(incarnation),
      bounds_(&bounds),
      a_(OverA::Carrier(self, incarnation, bounds.ordered), CapacityA(self, bounds.known)),
      b1_(OverB1::Carrier(self, incarnation, bounds.ordered), CapacityB1(self, bounds.known)),
      c_(self, bounds.lossy) {}

// --- inputs ---

void Elections::receive(Turn<Elections>& turn, NodeId from, const Message& message) {
  const auto receive = [&](auto& machine, const auto& content) {
    step(turn, machine, [&](auto& inner, auto& part) { inner.receive(part, from, content); });
  };
  if (const auto* begin = std::get_if<Begin>(&message))
    on_begin(turn, WallTime{begin->at});
  else if (const auto* a = std::get_if<OverA::Message>(&message))
    receive(a_, *a);
  else if (const auto* b1 = std::get_if<OverB1::Message>(&message))
    receive(b1_, *b1);
  else
    receive(c_, std::get<CapacityC::Message>(message));
}

void Elections::on_begin(Turn<Elections>& turn, WallTime at) {
  const WallTime now = network_.at(turn.now);
  const bool soon = at > now && at <= now + 2 * bounds_->ordered.latency();
  if (!soon || begins_a()) return;
  renew_a(turn);
  begin_at_ = at;
}

void Elections::on_timer(Turn<Elections>& turn, TimerId /*timer*/) {
  if (begin_at_ <= network_.at(turn.now)) {
    begin_at_ = kNever;
    command_machine(turn, a_, CapacityCommand::hold());
  }
  wake_due(turn, a_);
  wake_due(turn, b1_);
  wake_due(turn, c_);
}

void Elections::command(Turn<Elections>& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void Elections::on_command(Turn<Elections>& turn, const Hold& hold) {
  const auto doubts = [&](const auto& carrier) {
    return carrier.doubt() != broadcast::Doubt::none ||
           carrier.latency() > 2 * bounds_->ordered.latency();
  };
  const bool ordered =
      hold.wanted == Algorithm::a || (hold.wanted == Algorithm::b1 && !doubts(b1_.carrier()));
  const Algorithm algorithm = network_.trusted() && ordered ? hold.wanted : Algorithm::c;
  if (algorithm == Algorithm::c) {
    command_machine(turn, c_, CapacityCommand::hold());
  } else if (algorithm == Algorithm::b1) {
    command_machine(turn, b1_, CapacityCommand::hold());
  } else if (!begins_a()) {
    renew_a(turn);
    begin_at_ = network_.at(turn.now) + bounds_->ordered.latency();
    turn.out.broadcast(Begin{begin_at_.time_since_epoch()});
  }
  turn.out.notify(Holds{algorithm});
}

void Elections::on_command(Turn<Elections>& turn, const OfferCapacity& offer) {
  offer_ = offer.capacity;
  command_machine(turn, a_, CapacityCommand::offer(offer_));
  command_machine(turn, b1_, CapacityCommand::offer(offer_));
  command_machine(turn, c_, CapacityCommand::offer(offer_));
}

// If network time was set back by more than a clock can be wrong, the machines start over.
void Elections::on_command(Turn<Elections>& turn, const NetworkClock& clock) {
  if (!network_.follow(turn.now, clock, bounds_->ordered.latency())) return;
  begin_at_ = kNever;
  renew_a(turn);
  b1_ = OverB1(OverB1::Carrier(self_, next_incarnation(), bounds_->ordered),
               CapacityB1(self_, bounds_->known));
  command_machine(turn, b1_, CapacityCommand::offer(offer_));
}

OneTimer<BootTime> Elections::timers() const {
  const WallTime by_network = std::min({begin_at_, a_.timers().first(), b1_.timers().first()});
  return OneTimer(std::min(network_.boot_time(by_network), c_.timers().first()));
}

const char* Elections::check() const {
  for (const char* broken : {a_.check(), b1_.check(), c_.check()})
    if (broken != nullptr) return broken;
  return nullptr;
}

// --- helpers ---

template <class M, class Do>
void Elections::step(Turn<Elections>& turn, M& machine, Do todo) {
  constexpr Algorithm kAlgorithm = std::is_same_v<M, OverA>    ? Algorithm::a
                                   : std::is_same_v<M, OverB1> ? Algorithm::b1
                                                               : Algorithm::c;
  step_part_at(time_for(machine, turn.now), turn, machine, todo, [&](const Output<M>& output) {
    if (pass_on(turn, output, [](const auto& message) { return Message{message}; })) return;
    if constexpr (std::is_same_v<M, CapacityC>)
      turn.out.notify(notice_of(output.notice, kAlgorithm));
    else if (const auto* notice = std::get_if<CapacityNotice>(&output.notice.body))
      turn.out.notify(notice_of(*notice, kAlgorithm));
  });
}

template <class M>
void Elections::command_machine(Turn<Elections>& turn, M& machine, const CapacityCommand& command) {
  step(turn, machine, [&](auto& inner, auto& part) { inner.command(part, command); });
}

template <class M>
void Elections::wake_due(Turn<Elections>& turn, M& machine) {
  for (int i = 0; i < kMaxWakes; ++i) {
    const auto due = first_due(machine.timers(), time_for(machine, turn.now));
    if (!due) return;
    step(turn, machine, [&](auto& inner, auto& part) { inner.on_timer(part, *due); });
  }
}

template <class M>
TimeOf<M> Elections::time_for(const M& /*machine*/, BootTime now) {
  if constexpr (std::is_same_v<TimeOf<M>, BootTime>)
    return now;
  else
    return network_.at(now);
}

// An election by A is planned or running.
bool Elections::begins_a() const {
  return begin_at_ != kNever || a_.rider().phase() == CapacityA::Phase::wait;
}

// Elections by A have no common numbers: each has its own machine, which counts from one.
void Elections::renew_a(Turn<Elections>& turn) {
  a_ = OverA(OverA::Carrier(self_, next_incarnation(), bounds_->ordered),
             CapacityA(self_, bounds_->known));
  command_machine(turn, a_, CapacityCommand::offer(offer_));
}

Incarnation Elections::next_incarnation() {
  return Incarnation{std::to_underlying(incarnation_) + ++restarts_};
}

}  // namespace tempo::groups
