#include "protocol/group/elections.h"

#include <algorithm>

namespace tempo::groups {

using election::CapacityA;
using election::CapacityB1;
using election::CapacityC;
using ElectionCommand = election::capacity::Command;
using ElectionNotice = election::capacity::Notice;

namespace {

broadcast::Rules ordered_rules(Nanos lease) {
  return {.members = kMaxNodes,
          .delay = lease / 32,
          .precision = lease / 64,
          .faulty = 1};  // a member that received a message relays it to those that missed it
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

Algorithm Elections::hold(const Moment& moment, Draw& draw, Algorithm wanted, Results& results) {
  const auto doubts = [&](const auto& carrier) {
    return carrier.doubt() != broadcast::Doubt::none ||
           carrier.latency() > 2 * bounds_->ordered.latency();
  };
  if (!moment.trusted || (wanted == Algorithm::b1 && doubts(b1_.carrier()))) wanted = Algorithm::c;
  if (wanted == Algorithm::b2) wanted = Algorithm::c;
  const Instant now = network(moment, draw, results);
  switch (wanted) {
    case Algorithm::a:
      if (begin_at_ != kNever || a_.rider().phase() == CapacityA::Phase::wait) break;
      renew_a(now, draw, results);
      begin_at_ = now + bounds_->ordered.latency();
      results.messages.emplace_back(Begin{begin_at_.time_since_epoch()});
      break;
    case Algorithm::b1:
      step(b1_, now, draw, results,
           [](auto& machine, auto& turn) { machine.command(turn, ElectionCommand::hold()); });
      break;
    case Algorithm::c:
    default:
      step(c_, moment.now, draw, results,
           [](auto& machine, auto& turn) { machine.command(turn, ElectionCommand::hold()); });
      break;
  }
  return wanted;
}

void Elections::offer(const Moment& moment, Draw& draw, election::capacity::Capacity capacity,
                      Results& results) {
  offer_ = capacity;
  const Instant now = network(moment, draw, results);
  step(a_, now, draw, results, offering());
  step(b1_, now, draw, results, offering());
  step(c_, moment.now, draw, results, offering());
}

void Elections::receive(const Moment& moment, Draw& draw, NodeId from,
                        const ElectionMessage& received, Results& results) {
  const auto receive = [&](auto& machine, Instant now, const auto& message) {
    step(machine, now, draw, results,
         [&](auto& inner, auto& turn) { inner.receive(turn, from, message); });
  };
  const Instant now = network(moment, draw, results);
  if (const auto* begin = std::get_if<Begin>(&received)) {
    const Instant at{begin->at};
    const bool soon = at > now && at <= now + 2 * bounds_->ordered.latency();
    if (!soon || begin_at_ != kNever || a_.rider().phase() == CapacityA::Phase::wait) return;
    renew_a(now, draw, results);
    begin_at_ = at;
  } else if (const auto* a = std::get_if<OverA::Message>(&received)) {
    receive(a_, now, *a);
  } else if (const auto* b1 = std::get_if<OverB1::Message>(&received)) {
    receive(b1_, now, *b1);
  } else {
    receive(c_, moment.now, std::get<CapacityC::Message>(received));
  }
}

void Elections::on_timer(const Moment& moment, Draw& draw, Results& results) {
  const Instant now = network(moment, draw, results);
  if (begin_at_ <= now) {
    begin_at_ = kNever;
    step(a_, now, draw, results,
         [](auto& machine, auto& turn) { machine.command(turn, ElectionCommand::hold()); });
  }
  wake_due(a_, now, draw, results);
  wake_due(b1_, now, draw, results);
  wake_due(c_, moment.now, draw, results);
}

std::optional<Nanos> Elections::due_in(const Moment& moment) const {
  const Instant network = std::max(last_network_, moment.network);
  const Instant by_network = std::min({begin_at_, a_.timers().first(), b1_.timers().first()});
  const Instant by_clock = c_.timers().first();
  std::optional<Nanos> due;
  if (by_network != kNever) due = by_network - network;
  if (by_clock != kNever) due = due ? std::min(*due, by_clock - moment.now) : by_clock - moment.now;
  if (due) due = std::max(*due, Nanos{0});
  return due;
}

// --- helpers ---

template <class M, class Do>
void Elections::step(M& machine, Instant now, Draw& draw, Results& results, Do todo) {
  Outbox<M> out;
  Turn<M> turn{now, draw, out};
  todo(machine, turn);
  constexpr Algorithm kBy = std::is_same_v<M, OverA>    ? Algorithm::a
                            : std::is_same_v<M, OverB1> ? Algorithm::b1
                                                        : Algorithm::c;
  for (const auto& output : out) {
    if (output.kind == OutputKind::broadcast)
      results.messages.emplace_back(output.message);
    else if constexpr (std::is_same_v<typename M::Notice, ElectionNotice>)
      on_notice(output.notice, kBy, results);
    else if (const auto* notice = std::get_if<ElectionNotice>(&output.notice.body))
      on_notice(*notice, kBy, results);
  }
}

void Elections::on_notice(const ElectionNotice& notice, Algorithm by, Results& results) {
  results.by = by;
  results.elected = notice.kind == ElectionNotice::Kind::elected ? notice.master : kNobody;
}

template <class M>
void Elections::wake_due(M& machine, Instant now, Draw& draw, Results& results) {
  for (int i = 0; i < kMaxWakes && machine.timers().first() <= now; ++i)
    step(machine, now, draw, results,
         [](auto& inner, auto& turn) { inner.on_timer(turn, inner.timers().first_name()); });
}

// Network time never goes back for these machines. If it was set back by more than a clock can be
// wrong, they start over.
Instant Elections::network(const Moment& moment, Draw& draw, Results& results) {
  const bool set_back = moment.network + bounds_->ordered.latency() < last_network_;
  last_network_ = set_back ? moment.network : std::max(last_network_, moment.network);
  if (set_back) {
    begin_at_ = kNever;
    renew_a(last_network_, draw, results);
    b1_ = OverB1(OverB1::Carrier(self_, next_incarnation(), bounds_->ordered),
                 CapacityB1(self_, bounds_->known));
    step(b1_, last_network_, draw, results, offering());
  }
  return last_network_;
}

// Elections by A have no common numbers: each has its own machine, which counts from one.
void Elections::renew_a(Instant now, Draw& draw, Results& results) {
  a_ = OverA(OverA::Carrier(self_, next_incarnation(), bounds_->ordered),
             CapacityA(self_, bounds_->known));
  step(a_, now, draw, results, offering());
}

Incarnation Elections::next_incarnation() {
  return Incarnation{std::to_underlying(incarnation_) + ++restarts_};
}

}  // namespace tempo::groups
