// The behaviour of a network link: delay, loss, duplication, reordering.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "lab/sim/delay.h"

namespace tempo::sim {

// The random streams of a simulation, by number. A number is part of the meaning of a seed and is
// never reused for another purpose.
enum class Cause : std::uint32_t {
  machine = 1,
  delay,
  loss,
  duplicate,
  late,
  late_delay,
  incarnation,
  plan,
  copy_delay
};

struct Link {
  Delay delay = Delay::uniform(100us, 2ms);
  double loss = 0;       // probability that a copy is lost
  double duplicate = 0;  // probability of a second copy, which arrives a further delay later
  double reorder = 0;    // probability that a copy takes `lateness` longer
  Delay lateness = Delay::uniform(0s, 8ms);
  bool same_order = false;  // a broadcast arrives at all receivers after the same delay
  bool in_order = false;    // FIFO between each pair of nodes: no message overtakes another
  bool echo = false;        // a broadcast also arrives at its sender
};

// The treatment of one copy of one message, as decided by a test or script.
struct DeliveryDecision {
  bool lost = false;
  bool twice = false;
  Nanos extra{0};  // added to the delay
};

}  // namespace tempo::sim
