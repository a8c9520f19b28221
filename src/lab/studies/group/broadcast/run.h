// Atomic broadcasts in a simulated network with faulty processes, and violations of the properties.
#pragma once

#include <cstdint>

#include "protocol/broadcast/bounds.h"

namespace tempo::sim::broadcast {

// Behaviour of the faulty processes.
enum class Fault : std::uint8_t {
  random,  // each copy to or from a faulty process is lost with probability one half; some crash
  // Worst case: a faulty sender reaches only one faulty process, that one the next, as late as
  // possible, and the last of them one correct process.
  chain,
  // Malicious class: a faulty sender holds its message back until just before its delivery and
  // gives it to one correct process.
  hold_back,
};

struct Setup {
  tempo::broadcast::Rules rules{};
  Fault fault = Fault::random;
  std::uint32_t broadcasts = 20;
  double late = 0;  // probability that a copy takes up to three delays more, beyond the bound
  std::uint64_t seed = 1;
};

// Counts at correct processes.
struct Outcome {
  std::uint64_t broadcasts = 0;
  // Broadcasts of correct processes that some correct process did not deliver.
  std::uint64_t lost = 0;
  // Broadcasts that some processes delivered and some did not, or at another time.
  std::uint64_t not_atomic = 0;
  std::uint64_t disordered = 0;  // processes that delivered in another order than the first
  std::uint64_t twice = 0;       // repeated deliveries
  std::uint64_t alarms = 0;      // notices that the bounds are violated
  std::uint64_t transmissions = 0;
};

Outcome run(const Setup& setup);

}  // namespace tempo::sim::broadcast
