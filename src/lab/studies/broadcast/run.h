// Atomic broadcasts in a simulated network with faulty processes, and which promises held.
#pragma once

#include <cstdint>

#include "protocol/broadcast/bounds.h"

namespace tempo::sim::broadcast {

// How the faulty processes behave.
enum class Fault : std::uint8_t {
  random,  // each copy to or from a faulty process is lost with probability one half; some crash
  chain,  // the worst: a faulty sender reaches one faulty process alone, that one the next, as late
          // as may be, and the last of them one correct process
  hold_back,  // malicious class: a faulty sender keeps its own message until just before delivery
              // and gives it to one correct process
};

struct Setup {
  tempo::broadcast::Rules rules{};
  Fault fault = Fault::random;
  std::uint32_t broadcasts = 20;
  double late = 0;  // probability that a copy takes up to three delays more: the bounds are broken
  std::uint64_t seed = 1;
};

// Of correct processes.
struct Outcome {
  std::uint64_t broadcasts = 0;
  std::uint64_t lost = 0;  // broadcasts of correct ones that some correct one did not deliver
  std::uint64_t not_atomic =
      0;  // broadcasts that some delivered and some did not, or at another time
  std::uint64_t disordered = 0;  // processes that delivered in another order than the first
  std::uint64_t twice = 0;       // deliveries of what was delivered before
  std::uint64_t alarms = 0;      // notices that the bounds are broken
  std::uint64_t transmissions = 0;
};

Outcome run(const Setup& setup);

}  // namespace tempo::sim::broadcast
