// The election of a leader among processors that have no names, on a ring with known bounds on the
// duration of a step and of a message's way (an Archimedean ring). One station's part.
//
// An election is a sequence of phases. In each, every station draws from 1..n; who draws 1 is a
// candidate, sends a claim round the ring, and waits for it to come back. Whether the claim that
// comes back is its own it cannot see, so it plays k stages with it, passing it on or holding it
// back as a coin says: two candidates go unnoticed only if they play alike. Who notices another
// candidate, and who waits in vain for any claim, calls for the next phase with a Next-time. Who
// goes through all stages is elected and sends a Termination, which beats everything. With a small
// probability, which k decides, there are two leaders (lab/analysis/anonymous_ring.h).
//
// Source: Spirakis & Tampakas, "Efficient Distributed Algorithms by Using the Archimedean Time
// Assumption", 1990, section 4 and appendix A. Corrections are marked in ring_anonymous_table.h.
// Where we go further: a station that crashes is passed over and the election begins anew under a
// higher number, as in ring_equitable.h.
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
  bool one = false;  // of a phase: it drew 1
};

// What is known of the ring. Times are true time; a station counts its own steps.
struct Rules {
  ring::LinkRules link{};
  std::uint32_t stages = 30;  // k, at least 1
  Nanos step_min = 1us;       // rmin, above 0
  Nanos step_max = 1us;       // rmax
  Nanos delay_max = 1ms;      // dmax, with all repeats if there are any
  bool printed_next_timer = false;
  bool printed_last_wait = false;

  // L = n ceil((dmax + rmax) / rmin), in steps: at least once round the ring whatever the speed.
  std::int64_t loop() const;
  // L (rmax / rmin + 1), rounded up.
  std::int64_t patience() const;
  // After the last stage: L. As printed n dmax, which forgets that every station takes a step to
  // pass a message on, and how long a step may be.
  std::int64_t last_wait() const;
};

}  // namespace anonymous

class AnonymousRingElection {
 public:
  using Message = ring::Message;
  using Command = anonymous::Command;
  using Notice = anonymous::Notice;

  // The rules are shared by many machines and must outlive them. `self` and `life` are the link's:
  // the election itself does not look at them. A station's own clock shows `step_min` for each of
  // its steps, however long they take.
  AnonymousRingElection(NodeId self, Incarnation life, const anonymous::Rules& rules);

  void start(Turn<AnonymousRingElection>& turn);
  void receive(Turn<AnonymousRingElection>& turn, NodeId from, const Message& message);
  void on_timer(Turn<AnonymousRingElection>& turn, TimerId timer);
  void command(Turn<AnonymousRingElection>& turn, Command command);

  const Timers<anonymous::Timer>& timers() const { return timers_; }
  const char* check() const;

  anonymous::State state() const { return state_; }
  bool decided() const {
    return state_ == anonymous::State::elected || state_ == anonymous::State::defeated;
  }
  std::uint32_t claims() const { return claims_; }
  const ring::Link& link() const { return link_; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("state", self.state_);
    visit("number", self.number_);
    visit("stage", self.stage_);
    visit("claims", self.claims_);
    visit("passed_next_time", self.passed_next_time_);
    visit("link", self.link_);
    visit("timers", self.timers_);
  }

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
  void anew(Turn<AnonymousRingElection>& turn, std::uint32_t number);
  void neighbour_lost(Turn<AnonymousRingElection>& turn);
  void start_clock(Instant now, std::int64_t steps);
  bool candidate() const;
  void settle_timers();

  [[maybe_unused]] NodeId self_;  // in `fields` alone
  const anonymous::Rules* rules_;
  State state_ = State::sleeping;
  std::uint32_t number_ = 1;       // of the election; a crash begins the next one
  std::uint32_t stage_ = 0;        // of a candidate, from 0; 0 elsewhere
  std::uint32_t claims_ = 0;       // that a candidate owns: 0, 1; 0 elsewhere
  bool passed_next_time_ = false;  // by the printed next-timer
  ring::Link link_;
  Timers<anonymous::Timer> timers_;
};

static_assert(Machine<AnonymousRingElection>);

}  // namespace tempo::election
