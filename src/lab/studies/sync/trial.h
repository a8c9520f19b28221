// A trial of the estimator: one client with a wandering oscillator asks a perfect reference, and
// what it believes is compared with the truth every second.
//
// The first contact is a burst of eight exchanges; from then on they come at an even pace. The
// first quarter of a run is not judged. One seed decides a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempo::clock::testing {

struct Trial {
  std::string name{};
  std::string out = "100us";  // delays, in the grammar of lab/sim/delay.h
  std::string back = "100us";
  std::string later_out{};  // from half time on; empty: no change
  std::string later_back{};
  double wander = 1e-9;  // of the rate, per square root of a second
  double per_second = 1;
  double loss = 0;
  double clock_jump = 0;    // of the local clock at half time, in seconds
  double rate_step = 0;     // of its rate
  double silent_from = -1;  // no exchange after this second
  int seconds = 4000;
};

struct Outcome {
  double rms = 0;         // of the error, in microseconds
  double most = 0;        // largest error
  double sigma = 0;       // rms of the standard error that was claimed
  double at_10s = 0;      // error ten seconds after the first contact
  double width = 0;       // median width of the bound
  double least_trip = 0;  // least round trip met
  int violations = 0;     // seconds at which the bound did not hold the truth, from the start on
  std::vector<double> errors;  // by second, from the start on
};

Outcome run(const Trial& trial, std::uint64_t seed);

// Means over seeds 1 to `seeds`, and the worst of them.
struct Summary {
  double rms = 0;
  double worst_rms = 0;
  double most = 0;  // the largest error of any seed
  double sigma = 0;
  double at_10s = 0;  // worst
  double width = 0;
  double least_trip = 0;
  int violations = 0;  // sum
};
Summary summarize(const Trial& trial, int seeds);

}  // namespace tempo::clock::testing
