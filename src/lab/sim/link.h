// What may become of a message on its way, and what decides it.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "lab/sim/delay.h"

namespace tempo::sim {

// The numbered causes of chance. A number is never reused for something else: it is part of a
// seed's meaning.
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
  double loss = 0;       // of each copy that is to arrive
  double duplicate = 0;  // arrives twice, each copy after its own delay
  double reorder = 0;    // takes `lateness` longer
  Delay lateness = Delay::uniform(0s, 8ms);
  bool same_order = false;  // a broadcast arrives everywhere after one and the same delay
  bool in_order = false;    // from one node to another nothing overtakes: it arrives right behind
  bool echo = false;        // a broadcast arrives at its sender too
};

// What happens to one copy of a message on one link, when a script wants it to be special.
struct DeliveryDecision {
  bool lost = false;
  bool twice = false;
  Nanos extra{0};
};

}  // namespace tempo::sim
