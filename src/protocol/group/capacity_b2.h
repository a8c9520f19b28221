// Algorithm B.2: like B.1, but up to t of the n processes may be byzantine: they may lie, stay
// silent or send at any time. Needs n >= 3t + 1.
//
// First every process collects bids for 2T; then every process reports how many it has collected
// and collects the reports of the others for 2T. All processes see all broadcasts in one order, so
// the bids of a process are the first k of the common order, and k is enough to name them.
// Candidates
// + n broadcasts, 5T.
//
// el(Y), the choice at the end, uses the first n - t reports, which are the same for all. As
// printed it also uses the process's own bids, which are not: one process receives a bid just
// before it reports, another just after, and they elect differently. The corrected choice takes the
// longest list that is a prefix of at least t + 1 of those reports: one of these t + 1 is honest,
// so every process has seen that many bids.
//
// Row 8a is ours: a report may arrive before we wait for it. Row 5a continues the common order
// after our own report. Messages of the next election wait until this one has ended: a byzantine
// process could otherwise begin it when only some processes have ended this one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "machine/table.h"
#include "protocol/group/capacity.h"

namespace tempo::election {
namespace capacity_b2 {

enum class Phase : std::uint8_t { normal, coll1, coll2, stop };
enum class Event : std::uint8_t { hold, init, vect, timeout };
enum class When : std::uint8_t { always, candidate, not_candidate, corrected };
enum class Verb : std::uint8_t { timer_2t, broadcast_init, broadcast_vect, append, report, decide };
using Row = TableRow<Phase, Event, Verb, When>;

// clang-format off
inline constexpr Row kRows[] = {
  // #    phase          event           when                 next           does
  {"1",  Phase::normal, Event::hold,    When::candidate,     Phase::coll1,  {Verb::timer_2t, Verb::broadcast_init}},
  {"2",  Phase::normal, Event::init,    When::candidate,     Phase::coll1,  {Verb::append, Verb::timer_2t, Verb::broadcast_init}},
  {"3",  Phase::normal, Event::init,    When::not_candidate, Phase::coll1,  {Verb::append, Verb::timer_2t}},
  {"5",  Phase::coll1,  Event::init,    When::always,        Phase::coll1,  {Verb::append}},
  {"5a", Phase::coll2,  Event::init,    When::always,        Phase::coll2,  {Verb::append}},
  {"6",  Phase::coll1,  Event::timeout, When::always,        Phase::coll2,  {Verb::broadcast_vect, Verb::timer_2t}},
  {"8",  Phase::coll2,  Event::vect,    When::always,        Phase::coll2,  {Verb::report}},
  {"8a", Phase::normal, Event::vect,    When::corrected,     Phase::normal, {Verb::report}},
  {"8a", Phase::coll1,  Event::vect,    When::corrected,     Phase::coll1,  {Verb::report}},
  {"9",  Phase::coll2,  Event::timeout, When::always,        Phase::stop,   {Verb::decide}},
};
// clang-format on
static_assert(deterministic(kRows));
using Table = StateTable<kRows>;

enum class Kind : std::uint8_t { init, vect };

struct Message {
  Kind kind = Kind::init;
  std::uint32_t number = 0;                               // of the election
  capacity::Capacity capacity = capacity::kNotCandidate;  // of init
  std::uint32_t size = 0;  // of vect: number of bids that the sender has

  bool operator==(const Message&) const = default;
  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::kind>("kind"), field<&M::number>("number"),
                field<&M::capacity>("capacity"), field<&M::size>("size"));
  }
};

// An entry of Y.
struct Report {
  NodeId node = kNobody;
  std::uint32_t size = 0;

  static constexpr auto fields(auto list) {
    return list(field<&Report::node>("node"), field<&Report::size>("size"));
  }
};

enum class Timer : std::uint8_t { phase, count };

std::string_view name_of(Phase phase);
std::string_view name_of(const Message& message);

}  // namespace capacity_b2

class CapacityB2 {
 public:
  using Message = capacity_b2::Message;
  using Time = WallTime;
  using Command = capacity::Command;
  using Notice = capacity::Notice;
  using Phase = capacity_b2::Phase;

  // Many machines share the rules, which must outlive them; members >= 3 * malicious + 1.
  CapacityB2(NodeId self, const capacity::Rules& rules);

  void start(Turn<CapacityB2>& turn);
  void receive(Turn<CapacityB2>& turn, NodeId from, const Message& message);
  void on_timer(Turn<CapacityB2>& turn, TimerId timer);
  void command(Turn<CapacityB2>& turn, const Command& command);

  const Timers<capacity_b2::Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  Phase phase() const { return phase_; }
  NodeId self() const { return self_; }
  NodeId master() const { return master_; }  // of the last election that ended; kNobody: none
  bool decided() const { return phase_ == Phase::stop; }
  std::uint32_t number() const { return number_; }
  std::size_t reports() const { return reports_.size(); }  // in Y

  static constexpr auto fields(auto list) {
    using M = CapacityB2;
    return list(field<&M::self_>("self"), field<&M::phase_>("phase"), field<&M::number_>("number"),
                field<&M::offer_>("offer"), field<&M::bids_>("bids"),
                field<&M::reported_>("reported"), field<&M::reports_>("reports"),
                field<&M::early_messages_>("next"), field<&M::master_>("master"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void begin_next(Turn<CapacityB2>& turn);
  void take(Turn<CapacityB2>& turn, capacity_b2::Event event, NodeId from, const Message& heard);
  void enter(Phase next) { phase_ = next; }  // the only function that assigns it
  bool holds(capacity_b2::When when) const;
  void perform(Turn<CapacityB2>& turn, capacity_b2::Verb verb, NodeId from, const Message& heard);
  NodeId choose() const;
  NodeId choose_as_printed() const;
  NodeId best_of_first(std::size_t count) const;
  void renew();

  NodeId self_;
  const capacity::Rules* rules_;
  Phase phase_ = Phase::normal;
  std::uint32_t number_ = 1;  // of the next, current or last election
  capacity::Capacity offer_ = capacity::kNotCandidate;
  std::vector<capacity::Bid> bids_;           // in the common order, one for each process
  std::uint32_t reported_ = 0;                // S: this many of the first bids; set when reported
  std::vector<capacity_b2::Report> reports_;  // Y, one for each process
  capacity::EarlyMessages<Message> early_messages_;
  NodeId master_ = kNobody;
  Timers<capacity_b2::Timer, Time> timers_;
};

static_assert(CheckableMachine<CapacityB2>);

}  // namespace tempo::election
