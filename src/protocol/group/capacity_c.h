// Algorithm C: broadcasts may be lost.
//
// Candidates bid and collect bids for 2T. A candidate that has seen no better bid announces that it
// is elected and listens for 3T. A process that learns of a second winner announces that to all,
// and the winners compete again in the next round, of 3T. A process that knows of an election but
// receives no announcement of a winner asks for help. The algorithm can end with two masters: for
// two processes that begin together, with probability p^3 (2 - p) if each copy of a message is lost
// with probability p.
//
// Rows 6a to 8a are ours: a process that began later than others may receive the announcement while
// it still collects bids. As printed, it ignores the announcement, and 12 % (two candidates) to
// 30 % (five candidates) of the loss-free elections of five processes end with a process that asks
// for help; with 20 candidates it is 44 %. Row 18a is ours too: a process leaves the help state.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "machine/table.h"
#include "protocol/group/capacity.h"

namespace tempo::election {
namespace capacity_c {

enum class Phase : std::uint8_t {
  normal,
  coll1,
  coll2,
  coll3,
  wait1,
  wait2,
  wait3,
  help,
  stop,
  master
};
enum class Event : std::uint8_t { hold, init, elected, dup, timeout };
enum class When : std::uint8_t {
  always,
  candidate,
  not_candidate,
  corrected,
  best,              // the own bid is the best of S and E
  best_none_else,    // the same, and E is empty
  none_else,         // E is empty
  one_else,          // E has one entry
  other_than_master  // the announced winner is not the one we know
};
enum class Verb : std::uint8_t {
  collect_own,      // S += own
  own_alone,        // S = {own}
  own_and_elected,  // S = E + own
  collect,          // S += the received bid
  collect_new_dup,  // S += the received bid; broadcast dup if it is new
  collect_elected,  // E += the received bid
  adopt,            // master = the received winner
  adopt_elected,    // master = the one in E
  reign,            // this process is master
  timer_2t,
  timer_3t,
  timer_5t,
  broadcast_init,
  broadcast_elected,
  broadcast_dup,  // the own bid, or the master's, and the received one
  broadcast_dup_of_elected,
  ask_help,
  settle,  // the election is over for this process
};
using Row = TableRow<Phase, Event, Verb, When>;

// clang-format off
inline constexpr Row kRows[] = {
  // #     phase          event           when                     next           does
  {"1",   Phase::normal, Event::hold,    When::candidate,         Phase::coll1,  {Verb::collect_own, Verb::timer_2t, Verb::broadcast_init}},
  {"2",   Phase::normal, Event::init,    When::candidate,         Phase::coll1,  {Verb::collect_own, Verb::collect, Verb::timer_2t, Verb::broadcast_init}},
  {"3",   Phase::normal, Event::init,    When::not_candidate,     Phase::wait1,  {Verb::timer_5t}},
  {"4",   Phase::normal, Event::elected, When::always,            Phase::wait2,  {Verb::adopt, Verb::timer_3t}},
  {"5",   Phase::normal, Event::dup,     When::always,            Phase::wait3,  {Verb::timer_3t}},
  {"6",   Phase::coll1,  Event::init,    When::always,            Phase::coll1,  {Verb::collect}},
  {"6a",  Phase::coll1,  Event::elected, When::corrected,         Phase::coll1,  {Verb::collect_elected}},
  {"6a",  Phase::coll1,  Event::dup,     When::corrected,         Phase::coll1,  {Verb::collect_elected}},
  {"8",   Phase::coll1,  Event::timeout, When::best_none_else,    Phase::coll2,  {Verb::own_alone, Verb::timer_3t, Verb::broadcast_elected}},
  {"8a",  Phase::coll1,  Event::timeout, When::best,              Phase::coll3,  {Verb::own_and_elected, Verb::timer_3t, Verb::broadcast_elected, Verb::broadcast_dup_of_elected}},
  {"7",   Phase::coll1,  Event::timeout, When::none_else,         Phase::wait1,  {Verb::timer_3t}},
  {"7a",  Phase::coll1,  Event::timeout, When::one_else,          Phase::wait2,  {Verb::adopt_elected, Verb::timer_2t}},
  {"7b",  Phase::coll1,  Event::timeout, When::always,            Phase::wait3,  {Verb::broadcast_dup_of_elected, Verb::timer_2t}},
  {"9",   Phase::coll2,  Event::elected, When::always,            Phase::coll3,  {Verb::collect, Verb::broadcast_dup}},
  {"10",  Phase::coll2,  Event::dup,     When::always,            Phase::coll3,  {Verb::collect}},
  {"11",  Phase::coll2,  Event::timeout, When::always,            Phase::master, {Verb::reign}},
  {"12",  Phase::coll3,  Event::elected, When::always,            Phase::coll3,  {Verb::collect_new_dup}},
  {"13",  Phase::coll3,  Event::dup,     When::always,            Phase::coll3,  {Verb::collect}},
  {"14",  Phase::coll3,  Event::timeout, When::best,              Phase::coll2,  {Verb::own_alone, Verb::timer_3t, Verb::broadcast_elected}},
  {"15",  Phase::coll3,  Event::timeout, When::always,            Phase::wait1,  {Verb::timer_3t}},
  {"16",  Phase::wait1,  Event::elected, When::always,            Phase::wait2,  {Verb::adopt, Verb::timer_2t}},
  {"17",  Phase::wait1,  Event::dup,     When::always,            Phase::wait3,  {Verb::timer_2t}},
  {"18",  Phase::wait1,  Event::timeout, When::always,            Phase::help,   {Verb::ask_help}},
  {"18a", Phase::help,   Event::elected, When::corrected,         Phase::wait2,  {Verb::adopt, Verb::timer_2t}},
  {"19",  Phase::wait2,  Event::elected, When::other_than_master, Phase::wait3,  {Verb::broadcast_dup}},
  {"20",  Phase::wait2,  Event::dup,     When::always,            Phase::wait3,  {}},
  {"21",  Phase::wait2,  Event::timeout, When::always,            Phase::stop,   {Verb::settle}},
  {"22",  Phase::wait3,  Event::timeout, When::always,            Phase::wait1,  {Verb::timer_3t}},
};
// clang-format on
static_assert(deterministic(kRows));
using Table = StateTable<kRows>;

enum class Kind : std::uint8_t { init, elected, dup };

struct Message {
  Kind kind = Kind::init;
  std::uint32_t number = 0;  // of the election
  capacity::Bid first;       // the sender's, or the first of the two winners
  capacity::Bid second;      // of dup

  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::kind>("kind"), field<&M::number>("number"), field<&M::first>("first"),
                field<&M::second>("second"));
  }
};

enum class Timer : std::uint8_t { phase, count };

std::string_view name_of(Phase phase);
std::string_view name_of(const Message& message);

}  // namespace capacity_c

class CapacityC {
 public:
  using Message = capacity_c::Message;
  using Time = BootTime;
  using Command = capacity::Command;
  using Notice = capacity::Notice;
  using Phase = capacity_c::Phase;

  // Many machines share the rules, which must outlive them.
  CapacityC(NodeId self, const capacity::Rules& rules);

  void start(Turn<CapacityC>& turn);
  void receive(Turn<CapacityC>& turn, NodeId from, const Message& message);
  void on_timer(Turn<CapacityC>& turn, TimerId timer);
  void command(Turn<CapacityC>& turn, const Command& command);

  const Timers<capacity_c::Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  Phase phase() const { return phase_; }
  NodeId self() const { return self_; }
  NodeId master() const { return master_.node; }  // as far as it is known; kNobody: unknown
  bool decided() const { return phase_ == Phase::stop || phase_ == Phase::master; }
  std::uint32_t number() const { return number_; }

  static constexpr auto fields(auto list) {
    using M = CapacityC;
    return list(field<&M::self_>("self"), field<&M::phase_>("phase"), field<&M::number_>("number"),
                field<&M::offer_>("offer"), field<&M::bid_>("bid"), field<&M::bids_>("bids"),
                field<&M::elected_>("elected"), field<&M::master_>("master"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void take(Turn<CapacityC>& turn, capacity_c::Event event, const Message& heard);
  void enter(Phase next) { phase_ = next; }  // the only function that assigns it
  bool holds(capacity_c::When when, const Message& heard) const;
  void perform(Turn<CapacityC>& turn, capacity_c::Verb verb, const Message& heard);
  bool is_best() const;
  void renew(std::uint32_t number);

  NodeId self_;
  const capacity::Rules* rules_;
  Phase phase_ = Phase::normal;
  std::uint32_t number_ = 1;  // of the next, current or last election
  capacity::Capacity offer_ = capacity::kNotCandidate;
  capacity::Bid bid_;       // the own bid in this election
  capacity::Bids bids_;     // S
  capacity::Bids elected_;  // E
  capacity::Bid master_;
  Timers<capacity_c::Timer, Time> timers_;
};

static_assert(CheckableMachine<CapacityC>);

}  // namespace tempo::election
