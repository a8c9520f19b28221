// Bounds of time: how long a step of a site takes and how long a message is in transit. A network
// with known bounds is called Archimedean. In such a network silence carries information: a message
// that has not arrived within the bound was never sent.
//
// A site counts time in its own steps. No step is shorter than `step_min` or longer than
// `step_max`, so a site can convert a span of true time into a number of steps that covers it.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/field_list.h"

namespace tempo::lock {

using Steps = std::uint64_t;

struct Bounds {
  Nanos step_min{1};   // rmin: shortest step of any site
  Nanos step_max{1};   // rmax: longest step of any site
  Nanos delay_min{0};  // dmin: shortest transit time of a message
  Nanos delay_max{0};  // dmax: longest transit time of a message

  bool operator==(const Bounds&) const = default;
  // Whether such a network can exist.
  constexpr bool sensible() const {
    return Nanos{0} < step_min && step_min <= step_max && Nanos{0} <= delay_min &&
           delay_min <= delay_max;
  }
  static constexpr auto fields(auto list) {
    using M = Bounds;
    return list(field<&M::step_min>("step_min"), field<&M::step_max>("step_max"),
                field<&M::delay_min>("delay_min"), field<&M::delay_max>("delay_max"));
  }
};

// Number of a site's own steps that last at least `span`, also when the current step is almost
// over.
constexpr Steps steps_covering(Nanos span, Nanos step_min) {
  return static_cast<Steps>((span + step_min - Nanos{1}) / step_min) + 1;
}

// Cost of handling messages, in steps of the handling site.
struct Handling {
  Steps request = 0;           // cb: for a request or a restart
  Steps reply = 0;             // cc: for a reply or an answer
  bool serial = false;         // a site handles one message at a time; the others queue
  bool quick_restart = false;  // serial: a site may restart before its messages are handled

  // c: steps that two sites together spend on a request and its reply while all other sites send
  // as well.
  constexpr Steps steps(std::uint32_t members) const {
    if (!serial) return request + reply;
    return 2 * Steps{members - 1} * ((quick_restart ? 2 : 1) * request + 2 * reply);
  }
};

}  // namespace tempo::lock
