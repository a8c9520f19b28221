// Algorithm B.1: processes that begin within T of each other and may stop for good.
//
// A candidate that begins, or learns that others have begun, sends one bid. 2T after its own
// beginning a process has received every bid and elects the best; 3T after the first beginning all
// processes have. One broadcast for each candidate.
//
// The winner may have died since its bid. It broadcasts an alive message (not counted as part of
// the election); a process that has received none 2T after its own decision begins the next
// election.
//
// The network must deliver a broadcast to all or none within T (see capacity.h). Transitions 4 and
// 7, a process that fails, belong to the driver: it stops driving.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "machine/table.h"
#include "protocol/group/capacity.h"

namespace tempo::election {
namespace capacity_b1 {

enum class Phase : std::uint8_t { normal, collect, stop };
enum class Event : std::uint8_t { hold, bid, alive, timeout };
enum class When : std::uint8_t {
  always,
  candidate,
  not_candidate,
  of_master,  // the message comes from the winner
  best_self,  // the own bid is the best
};
enum class Verb : std::uint8_t {
  collect_own,
  collect,  // the received bid
  timer_2t,
  broadcast_bid,
  broadcast_alive,
  note_alive,
  decide,        // master = max(S)
  expect_alive,  // timer 2T, unless the alive message of the master has already arrived
  begin_next,
};
using Row = TableRow<Phase, Event, Verb, When>;

// clang-format off
inline constexpr Row kRows[] = {
  // #    phase           event           when                 next            does
  {"1",  Phase::normal,  Event::hold,    When::candidate,     Phase::collect, {Verb::collect_own, Verb::timer_2t, Verb::broadcast_bid}},
  {"2",  Phase::normal,  Event::bid,     When::candidate,     Phase::collect, {Verb::collect_own, Verb::collect, Verb::timer_2t, Verb::broadcast_bid}},
  {"3",  Phase::normal,  Event::bid,     When::not_candidate, Phase::collect, {Verb::collect, Verb::timer_2t}},
  {"5",  Phase::collect, Event::bid,     When::always,        Phase::collect, {Verb::collect}},
  {"6a", Phase::collect, Event::timeout, When::best_self,     Phase::stop,    {Verb::decide, Verb::broadcast_alive}},
  {"6",  Phase::collect, Event::timeout, When::always,        Phase::stop,    {Verb::decide, Verb::expect_alive}},
  {"8a", Phase::collect, Event::alive,   When::always,        Phase::collect, {Verb::note_alive}},
  {"8b", Phase::stop,    Event::alive,   When::of_master,     Phase::stop,    {Verb::note_alive}},
  {"9a", Phase::stop,    Event::timeout, When::always,        Phase::normal,  {Verb::begin_next}},
};
// clang-format on
static_assert(deterministic(kRows));
using Table = StateTable<kRows>;

enum class Kind : std::uint8_t { bid, alive };

struct Message {
  Kind kind = Kind::bid;
  std::uint32_t number = 0;  // of the election
  capacity::Capacity capacity = capacity::kNotCandidate;

  bool operator==(const Message&) const = default;
  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::kind>("kind"), field<&M::number>("number"),
                field<&M::capacity>("capacity"));
  }
};

enum class Timer : std::uint8_t { phase, count };

std::string_view name_of(Phase phase);
std::string_view name_of(const Message& message);

}  // namespace capacity_b1

class CapacityB1 {
 public:
  using Message = capacity_b1::Message;
  using Time = WallTime;
  using Command = capacity::Command;
  using Notice = capacity::Notice;
  using Phase = capacity_b1::Phase;

  // Many machines share the rules, which must outlive them.
  CapacityB1(NodeId self, const capacity::Rules& rules);

  void start(Turn<CapacityB1>& turn);
  void receive(Turn<CapacityB1>& turn, NodeId from, const Message& message);
  void on_timer(Turn<CapacityB1>& turn, TimerId timer);
  void command(Turn<CapacityB1>& turn, const Command& command);

  const Timers<capacity_b1::Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  Phase phase() const { return phase_; }
  NodeId self() const { return self_; }
  NodeId master() const { return master_; }  // of the last election that ended; kNobody: none
  bool decided() const { return phase_ == Phase::stop; }
  std::uint32_t number() const { return number_; }
  // Whether the winner is known to have been alive when it was elected.
  bool assured() const { return decided() && (master_ == self_ || alive_ == master_); }

  static constexpr auto fields(auto list) {
    using M = CapacityB1;
    return list(field<&M::self_>("self"), field<&M::phase_>("phase"), field<&M::number_>("number"),
                field<&M::offer_>("offer"), field<&M::bids_>("bids"), field<&M::alive_>("alive"),
                field<&M::master_>("master"), field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void take(Turn<CapacityB1>& turn, capacity_b1::Event event, const capacity::Bid& heard);
  void enter(Phase next) { phase_ = next; }  // the only function that assigns it
  bool holds(capacity_b1::When when, const capacity::Bid& heard) const;
  void perform(Turn<CapacityB1>& turn, capacity_b1::Verb verb, const capacity::Bid& heard);
  void renew(std::uint32_t number);

  NodeId self_;
  const capacity::Rules* rules_;
  Phase phase_ = Phase::normal;
  std::uint32_t number_ = 1;  // of the next, current or last election
  capacity::Capacity offer_ = capacity::kNotCandidate;
  capacity::Bids bids_;     // S
  NodeId alive_ = kNobody;  // sender of the alive message received in this election; kNobody: none
  NodeId master_ = kNobody;
  Timers<capacity_b1::Timer, Time> timers_;
};

static_assert(CheckableMachine<CapacityB1>);

}  // namespace tempo::election
