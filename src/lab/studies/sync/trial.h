// A trial of the estimator: one client with a wandering oscillator probes a perfect reference, and
// its estimate is compared with the truth every second.
//
// The first contact is a burst of eight exchanges; later exchanges come at a constant rate. The
// first quarter of a run is not evaluated. One seed determines a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempo::clock::testing {

struct Trial {
  std::string name{};
  std::string out = "100us";  // delays, in the grammar of lab/sim/delay.h
  std::string back = "100us";
  std::string later_out{};  // delays after half the time; empty: no change
  std::string later_back{};
  double wander = 1e-9;  // random walk of the rate, per square root of a second
  double per_second = 1;
  double loss = 0;
  double clock_jump = 0;    // jump of the local clock after half the time, in seconds
  double rate_step = 0;     // change of its rate after half the time
  double silent_from = -1;  // no exchange after this second
  int seconds = 4000;
};

struct Outcome {
  double rms = 0;         // rms error, in microseconds
  double most = 0;        // largest error
  double sigma = 0;       // rms of the claimed standard error
  double at_10s = 0;      // error ten seconds after the first contact
  double width = 0;       // median width of the bound
  double least_trip = 0;  // smallest observed round trip
  int violations = 0;     // seconds at which the bound did not contain the truth, from the start
  std::vector<double> errors;  // by second, from the start
};

Outcome run(const Trial& trial, std::uint64_t seed);

// Means over the seeds 1 to `seeds`, and worst values.
struct Summary {
  double rms = 0;
  double worst_rms = 0;
  double most = 0;  // largest error of any seed
  double sigma = 0;
  double at_10s = 0;  // worst value
  double width = 0;
  double least_trip = 0;
  int violations = 0;  // sum
};
Summary summarize(const Trial& trial, int seeds);

}  // namespace tempo::clock::testing
