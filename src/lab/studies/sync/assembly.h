// A trial of the ensemble: a master asks N members with wandering clocks, combines them into a
// scale, and the scale is compared with true time.
#pragma once

#include <cstdint>

namespace tempo::clock::testing {

struct AssemblyTrial {
  int nodes = 8;
  double wander = 1e-9;
  double jitter = 10e-6;  // exponential, each way
  int seconds = 12000;
  // Disturbances at fixed parts of the run: a member jumps by 200 us, another changes its rate by
  // 1 ppm, a third leaves and returns.
  bool disturbed = false;
  // At half time the last node becomes master, and starts to measure the others.
  bool hand_over = false;
};

struct AssemblyOutcome {
  double scale_adev = 0;   // Allan deviation of the scale at 256 s
  double member_adev = 0;  // median of the members'
  double most_increment =
      0;  // largest change of the scale's advance from one round to the next, us
};

// The first quarter is not judged.
AssemblyOutcome run(const AssemblyTrial& trial, std::uint64_t seed);

}  // namespace tempo::clock::testing
