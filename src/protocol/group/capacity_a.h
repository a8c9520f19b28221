// Algorithm A: one exchange of capacities among processes that begin at the same instant.
//
// n broadcasts and the time T: the minimum of all the algorithms, and the reference for the others.
// It depends on its conditions. A process misses a bid that arrives before it has begun or after T,
// and a process that does not receive its own bid does not elect itself: if processes begin at
// different times, pause, or run without self-delivery, they disagree (doc/internals/election.md
// has the rates). Transitions 4 and 5, a process that fails, belong to the driver: it stops
// driving.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "machine/table.h"
#include "protocol/group/capacity.h"

namespace tempo::election {
namespace capacity_a {

enum class Phase : std::uint8_t { start, wait, stop };
enum class Event : std::uint8_t { hold, bid, timeout };
enum class Verb : std::uint8_t {
  collect,  // the received bid
  timer_t,
  broadcast_bid,
  decide,  // master = max(S)
};
using Row = TableRow<Phase, Event, Verb>;

// clang-format off
inline constexpr Row kRows[] = {
  // #   phase         event           next         does
  {"1", Phase::start, Event::hold,    Phase::wait, {Verb::timer_t, Verb::broadcast_bid}},
  {"2", Phase::wait,  Event::bid,     Phase::wait, {Verb::collect}},
  {"3", Phase::wait,  Event::timeout, Phase::stop, {Verb::decide}},
};
// clang-format on
static_assert(deterministic(kRows));
using Table = StateTable<kRows>;

struct Message {
  std::uint32_t number = 0;  // of the election
  capacity::Capacity capacity = capacity::kNotCandidate;

  bool operator==(const Message&) const = default;
  static constexpr auto fields(auto list) {
    return list(field<&Message::number>("number"), field<&Message::capacity>("capacity"));
  }
};

enum class Timer : std::uint8_t { phase, count };

std::string_view name_of(Phase phase);
inline std::string_view name_of(const Message& /*message*/) { return "bid"; }

}  // namespace capacity_a

class CapacityA {
 public:
  using Message = capacity_a::Message;
  using Time = WallTime;
  using Command = capacity::Command;
  using Notice = capacity::Notice;
  using Phase = capacity_a::Phase;

  // Many machines share the rules, which must outlive them.
  CapacityA(NodeId self, const capacity::Rules& rules);

  void start(Turn<CapacityA>& turn);
  void receive(Turn<CapacityA>& turn, NodeId from, const Message& message);
  void on_timer(Turn<CapacityA>& turn, TimerId timer);
  void command(Turn<CapacityA>& turn, const Command& command);

  const Timers<capacity_a::Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  Phase phase() const { return phase_; }
  NodeId self() const { return self_; }
  NodeId master() const { return master_; }  // of the last election that ended; kNobody: none
  bool decided() const { return phase_ == Phase::stop; }
  std::uint32_t number() const { return number_; }

  static constexpr auto fields(auto list) {
    using M = CapacityA;
    return list(field<&M::self_>("self"), field<&M::phase_>("phase"), field<&M::number_>("number"),
                field<&M::offer_>("offer"), field<&M::bids_>("bids"), field<&M::master_>("master"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void take(Turn<CapacityA>& turn, capacity_a::Event event, const capacity::Bid& heard);
  void enter(Phase next) { phase_ = next; }  // the only function that assigns it
  void perform(Turn<CapacityA>& turn, capacity_a::Verb verb, const capacity::Bid& heard);

  NodeId self_;
  const capacity::Rules* rules_;
  Phase phase_ = Phase::start;
  std::uint32_t number_ = 0;  // of the current election, or the last
  capacity::Capacity offer_ = capacity::kNotCandidate;
  capacity::Bids bids_;  // S
  NodeId master_ = kNobody;
  Timers<capacity_a::Timer, Time> timers_;
};

static_assert(CheckableMachine<CapacityA>);

}  // namespace tempo::election
