// The state machine of the anonymous Archimedean ring as a table (Spirakis & Tampakas 1989,
// appendix A).
//
// Each row reads: in this state, on this event, go to that state and do this. Other events are
// ignored, and their messages are not forwarded. Numbers at the rows are the paper's rules; "*"
// marks our corrections and additions, which doc/internals/rings.md explains.
//
// The paper's next-timer (rule 3) is here twice: corrected, and as printed, which never terminates.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/table.h"
#include "protocol/group/ring_types.h"

namespace tempo::election::anonymous {

enum class State : std::uint8_t {
  sleeping,
  between,      // takes no time: a phase begins with a draw
  awake_one,    // drew 1: becomes a candidate if no other station is first
  awake_other,  // drew another number: forwards claims
  next_timer,   // has left the phase, and waits until the station before it has
  forwarding,   // candidate
  holding,      // candidate
  waiting,      // candidate: the stages are over, messages in transit may still arrive
  elected,
  defeated,
  count
};

enum class Event : std::uint8_t {
  woken,
  drew_one,
  drew_other,
  claim,
  claim_again,  // a claim while it owns one
  next_time,
  next_time_again,  // printed rule only: not the first since it left the phase
  wake_up,
  termination,
  time_out,
  // The end of a stage with exactly one claim, and the choice for the next stage.
  end_forward,
  end_hold,
  end_last,
  end_miscounted,  // no claim, or more than one
  count
};

enum class Verb : std::uint8_t {
  send,        // a message of this kind
  begin,       // begin a phase: draw
  clock,       // start the clock of a phase: L steps
  clock_long,  // the same after another draw than 1: L (rmax/rmin + 1) steps
  stage,       // start the clock of a stage: L steps
  last_wait,   // start the clock after the last stage: L steps; n dmax is printed
  stop,        // stop the clock
  own,         // own one more claim
  pass_claim,  // forward the owned claim
};

struct Action {
  Verb verb{};
  ring::Kind kind{};  // of the message

  constexpr Action() = default;
  constexpr explicit(false) Action(Verb done) : verb(done) {}
  constexpr explicit(false) Action(ring::Kind sent) : verb(Verb::send), kind(sent) {}
};

using Row = TableRow<State, Event, Action>;

namespace table {
using S = State;
using E = Event;
using V = Verb;
using K = ring::Kind;

// clang-format off
inline constexpr Row kCommon[] = {
  // 1, 2: waking up; a phase begins
  {S::sleeping,    E::woken,           S::between,     {V::begin}},
  {S::sleeping,    E::wake_up,         S::between,     {V::begin}},
  {S::sleeping,    E::termination,     S::defeated,    {K::termination}},
  {S::between,     E::drew_one,        S::awake_one,   {K::wake_up, V::clock}},
  {S::between,     E::drew_other,      S::awake_other, {K::wake_up, V::clock_long}},

  // 2: awake
  {S::awake_one,   E::claim,           S::next_timer,  {K::next_time, V::stop}},             // 2.4
  {S::awake_one,   E::time_out,        S::forwarding,  {K::claim, V::stage}},                // 2.3, 4.3
  {S::awake_one,   E::termination,     S::defeated,    {K::termination, V::stop}},           // 2.2
  {S::awake_other, E::claim,           S::awake_other, {K::claim, V::stop}},                 // 2.7
  {S::awake_other, E::time_out,        S::next_timer,  {K::next_time, V::stop}},             // 2.6
  {S::awake_other, E::termination,     S::defeated,    {K::termination, V::stop}},

  // 4: candidate; it owns exactly one claim
  {S::forwarding,  E::claim,           S::forwarding,  {V::own}},
  {S::forwarding,  E::claim_again,     S::next_timer,  {K::next_time, V::stop}},             // 4.5, * also with one kept
  {S::holding,     E::claim,           S::next_timer,  {K::next_time, V::stop}},             // * its own has not come back
  {S::holding,     E::claim_again,     S::next_timer,  {K::next_time, V::stop}},             // 4.4
  {S::waiting,     E::claim,           S::next_timer,  {K::next_time, V::stop}},             // *
  {S::waiting,     E::claim_again,     S::next_timer,  {K::next_time, V::stop}},             // *
  {S::forwarding,  E::end_forward,     S::forwarding,  {V::pass_claim, V::stage}},           // 4.6 (a)
  {S::forwarding,  E::end_hold,        S::holding,     {V::stage}},                          // 4.6 (b)
  {S::forwarding,  E::end_last,        S::waiting,     {V::last_wait}},                      // 4.8
  {S::holding,     E::end_forward,     S::forwarding,  {V::stage}},                          // * keeps it
  {S::holding,     E::end_hold,        S::holding,     {V::stage}},
  {S::holding,     E::end_last,        S::waiting,     {V::last_wait}},
  {S::forwarding,  E::end_miscounted,  S::next_timer,  {K::next_time, V::stop}},             // *
  {S::holding,     E::end_miscounted,  S::next_timer,  {K::next_time, V::stop}},             // *
  {S::waiting,     E::time_out,        S::elected,     {K::termination, V::stop}},           // 4.8
  {S::forwarding,  E::termination,     S::defeated,    {K::termination, V::stop}},           // *
  {S::holding,     E::termination,     S::defeated,    {K::termination, V::stop}},           // *
  {S::waiting,     E::termination,     S::defeated,    {K::termination, V::stop}},           // *

  {S::next_timer,  E::termination,     S::defeated,    {K::termination}},                    // *
};

// 2.5, 4.7, 3, corrected: a Next-time is a marker. A station begins the next phase when it receives
// it from the station before it, and sends exactly one itself.
inline constexpr Row kMarker[] = {
  {S::awake_one,   E::next_time,       S::between,     {K::next_time, V::begin}},
  {S::awake_other, E::next_time,       S::between,     {K::next_time, V::begin}},
  {S::forwarding,  E::next_time,       S::between,     {K::next_time, V::begin}},
  {S::holding,     E::next_time,       S::between,     {K::next_time, V::begin}},
  {S::waiting,     E::next_time,       S::between,     {K::next_time, V::begin}},
  {S::next_timer,  E::next_time,       S::between,     {V::begin}},
};

// The same as printed: a next-timer forwards the first Next-time that reaches it (3.2), so that one
// is always in transit; and a Wake-up, which every next-timer generates (3.3), begins the phase
// (3.1). These rows come before the common ones.
inline constexpr Row kPrinted[] = {
  {S::awake_one,   E::next_time,       S::next_timer,  {K::next_time, V::stop, K::wake_up}},  // 2.5
  {S::awake_other, E::next_time,       S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::forwarding,  E::next_time,       S::next_timer,  {K::next_time, V::stop, K::wake_up}},  // 4.7
  {S::holding,     E::next_time,       S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::waiting,     E::next_time,       S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::awake_one,   E::claim,           S::next_timer,  {K::next_time, V::stop, K::wake_up}},  // 2.4
  {S::awake_other, E::time_out,        S::next_timer,  {K::next_time, V::stop, K::wake_up}},  // 2.6
  {S::forwarding,  E::claim_again,     S::next_timer,  {K::next_time, V::stop, K::wake_up}},  // 4.5
  {S::holding,     E::claim,           S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::holding,     E::claim_again,     S::next_timer,  {K::next_time, V::stop, K::wake_up}},  // 4.4
  {S::waiting,     E::claim,           S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::waiting,     E::claim_again,     S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::forwarding,  E::end_miscounted,  S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::holding,     E::end_miscounted,  S::next_timer,  {K::next_time, V::stop, K::wake_up}},
  {S::next_timer,  E::next_time,       S::next_timer,  {K::next_time}},                       // 3.2
  {S::next_timer,  E::wake_up,         S::between,     {V::begin}},                           // 3.1
};
// clang-format on
static_assert(deterministic(kCommon) && deterministic(kMarker) && deterministic(kPrinted));
}  // namespace table

std::string_view name_of(State state);
std::string_view name_of(Event event);

}  // namespace tempo::election::anonymous
