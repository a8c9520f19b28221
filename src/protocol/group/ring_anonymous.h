// The election of a leader among processors without names, on a ring with known bounds of the
// duration of a step and of a message's transit (an Archimedean ring). One station's part.
//
// An election is a sequence of phases. In each phase every station draws from 1..n. A station that
// draws 1 is a candidate: it sends a claim round the ring and waits for it to return. It cannot see
// whether the returning claim is its own, so it goes through k stages in which it forwards or holds
// the claim at random: two candidates go unnoticed only if they choose alike. A candidate that
// notices another, and a station that receives no claim in time, starts the next phase with a
// Next-time. A candidate that completes all stages is elected and sends a Termination, which
// overrides everything. With a small probability, which depends on k, there are two leaders
// (lab/analysis/anonymous_ring.h).
//
// Source: Spirakis & Tampakas, "Efficient Distributed Algorithms by Using the Archimedean Time
// Assumption", 1989, section 4 and appendix A. Corrections are marked in ring_anonymous_table.h.
// We go further: the ring skips a crashed station, and the election starts over under a higher
// number, as in ring_equitable.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "protocol/group/ring_anonymous_table.h"
#include "protocol/group/ring_link.h"

namespace tempo::election {
namespace anonymous {

enum class Command : std::uint8_t { wake };

enum class Timer : std::uint8_t { clock, link, count };

struct Notice {
  enum class What : std::uint8_t { phase, next_timer, candidate, elected, defeated };
  What what = What::phase;
  bool one = false;  // of a phase: the station drew 1
};

// Bounds of the ring. Times are true time; a station counts its own steps.
struct Rules {
  ring::LinkRules link{};
  std::uint32_t stages = 30;  // k, at least 1
  Nanos step_min = 1us;       // rmin, above 0
  Nanos step_max = 1us;       // rmax
  Nanos delay_max = 1ms;      // dmax, including all repeats
  bool printed_next_timer = false;
  bool printed_last_wait = false;

  // L = n ceil((dmax + rmax) / rmin), in steps: enough for a round of the ring at any speed.
  std::int64_t loop() const;
  // L (rmax / rmin + 1), rounded up.
  std::int64_t patience() const;
  // Wait after the last stage: L. As printed it is n dmax, which omits the step that every station
  // needs to forward a message, and the possible length of a step.
  std::int64_t last_wait() const;
};

}  // namespace anonymous

class AnonymousRingElection {
 public:
  using Message = ring::Message;
  using Time = BootTime;
  using Command = anonymous::Command;
  using Notice = anonymous::Notice;

  // Many machines share the rules, which must outlive them. `self` and `incarnation` are for the
  // link: the election itself does not use them. A station's own clock shows `step_min` for each of
  // its steps, however long they take.
  AnonymousRingElection(NodeId self, Incarnation incarnation, const anonymous::Rules& rules);

  void start(Turn<AnonymousRingElection>& turn);
  void receive(Turn<AnonymousRingElection>& turn, NodeId from, const Message& message);
  void on_timer(Turn<AnonymousRingElection>& turn, TimerId timer);
  void command(Turn<AnonymousRingElection>& turn, Command command);

  const Timers<anonymous::Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  anonymous::State state() const { return state_; }
  bool decided() const {
    return state_ == anonymous::State::elected || state_ == anonymous::State::defeated;
  }
  std::uint32_t claims() const { return claims_; }
  const ring::Link& link() const { return link_; }

  static constexpr auto fields(auto list) {
    using M = AnonymousRingElection;
    return list(field<&M::self_>("self"), field<&M::state_>("state"), field<&M::number_>("number"),
                field<&M::stage_>("stage"), field<&M::claims_>("claims"),
                field<&M::passed_next_time_>("passed_next_time"), field<&M::link_>("link"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  using State = anonymous::State;
  using Event = anonymous::Event;

  void take(Turn<AnonymousRingElection>& turn, const Message& message);
  Event event_of(ring::Kind kind) const;
  void happen(Turn<AnonymousRingElection>& turn, Event event);
  void act(Turn<AnonymousRingElection>& turn, const anonymous::Action& action);
  void enter(Turn<AnonymousRingElection>& turn, State next);
  void begin(Turn<AnonymousRingElection>& turn);
  void end_stage(Turn<AnonymousRingElection>& turn);
  void restart(Turn<AnonymousRingElection>& turn, std::uint32_t number);
  void neighbour_lost(Turn<AnonymousRingElection>& turn);
  void start_clock(BootTime now, std::int64_t steps);
  bool candidate() const;
  void settle_timers();

  [[maybe_unused]] NodeId self_;  // only for `fields`
  const anonymous::Rules* rules_;
  State state_ = State::sleeping;
  std::uint32_t number_ = 1;       // of the election; a crash begins the next one
  std::uint32_t stage_ = 0;        // of a candidate, from 0; otherwise 0
  std::uint32_t claims_ = 0;       // claims that a candidate owns, 0 or 1; otherwise 0
  bool passed_next_time_ = false;  // only with the printed next-timer
  ring::Link link_;
  Timers<anonymous::Timer, Time> timers_;
};

static_assert(CheckableMachine<AnonymousRingElection>);

}  // namespace tempo::election
