// A trial of the ensemble: a master probes N members with wandering clocks, combines them into a
// time scale, and compares the scale with true time.
#pragma once

#include <cstdint>

namespace tempo::clock::testing {

struct AssemblyTrial {
  int nodes = 8;
  double wander = 1e-9;
  double jitter = 10e-6;  // mean of the exponential jitter in each direction, in seconds
  int seconds = 12000;
  // Disturbances at fixed fractions of the run: one member jumps by 200 us, another changes its
  // rate by 1 ppm, a third leaves and returns.
  bool disturbed = false;
  // After half the time the last node becomes master and starts to measure the others.
  bool hand_over = false;
};

struct AssemblyOutcome {
  double scale_adev = 0;   // Allan deviation of the scale at 256 s
  double member_adev = 0;  // median over the members
  // Largest change of the scale's advance from one round to the next, us.
  double most_increment = 0;
};

// The first quarter of the run is not evaluated.
AssemblyOutcome run(const AssemblyTrial& trial, std::uint64_t seed);

}  // namespace tempo::clock::testing
