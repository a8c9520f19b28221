// What is known of time: how long a step of a site takes and how long a message is under way. A
// network of which that is known is called Archimedean, and in it silence can say something: what
// has not come by then was never sent.
//
// A site counts time in steps of its own. Nobody's steps are shorter than `step_min` or longer than
// `step_max`, so a span of true time is a number of steps that surely covers it.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace tempo::lock {

using Steps = std::uint64_t;

struct Bounds {
  Nanos step_min{1};   // rmin
  Nanos step_max{1};   // rmax
  Nanos delay_min{0};  // dmin
  Nanos delay_max{0};  // dmax

  bool operator==(const Bounds&) const = default;
  // Whether there can be such a network.
  constexpr bool sensible() const {
    return Nanos{0} < step_min && step_min <= step_max && Nanos{0} <= delay_min &&
           delay_min <= delay_max;
  }
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("step_min", self.step_min);
    visit("step_max", self.step_max);
    visit("delay_min", self.delay_min);
    visit("delay_max", self.delay_max);
  }
};

// So many steps of mine are at least this long, whatever step I am in.
constexpr Steps steps_covering(Nanos span, Nanos step_min) {
  return static_cast<Steps>((span + step_min - Nanos{1}) / step_min) + 1;
}

// What it costs a site to handle a message.
struct Handling {
  Steps request = 0;           // cb: a request, or a restart
  Steps reply = 0;             // cc: a reply, or an answer
  bool serial = false;         // one message at a time: the others queue
  bool quick_restart = false;  // serial: a site may be back before what it sent has been handled

  // c: so many steps, of two sites together, go into a request and the reply to it, when everybody
  // else speaks too.
  constexpr Steps steps(std::uint32_t members) const {
    if (!serial) return request + reply;
    return 2 * Steps{members - 1} * ((quick_restart ? 2 : 1) * request + 2 * reply);
  }
};

}  // namespace tempo::lock
