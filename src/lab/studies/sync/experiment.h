// Whole nodes keeping time in a simulated network: what is simulated, and what came of it.
//
// Node 0 is started first and becomes master; then the clients start within half a second. Unless
// the network is isolated, node 0's oscillator is perfect. Every client's clock starts wrong, runs
// wrong and wanders; every datagram takes the delay of its direction: up towards the master, down
// from it. One seed decides a run.
//
// Every second each clock is compared with the master's, with the others and with true time, and
// what it says about its own error is compared with the truth, ten times a second in the first
// minute and in the one after whatever happens. Network time is the reading of the highest-epoch
// master's steered clock. While that one lies it is what the honest had: the clock of the last
// honest master as it was at the last reading before the first lie, carried on in true time at the
// rate it had in the minute before. From the liar's resignation on the next master's clock counts,
// at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "lab/sim/delay.h"

namespace tempo::sim::sync {

enum class Lie : std::uint8_t {
  none,
  constant,  // from a moment on everything it says of its clock is 10 ms off
  drifting,  // from then on it is off by 100 us more every second
  random,    // from then on each datagram is off by up to 10 ms to either side
  gone,      // from then on it is silent: what a lie is to be compared with
};
std::string_view name_of(Lie lie);
// As "2:drifting": how many lie, and how.
struct Liars {
  std::uint32_t count = 0;
  Lie lie = Lie::none;
  bool master = false;  // one of them is the master; the others are the last clients
};
Result<Liars> parse_liars(std::string_view text);

struct Experiment {
  std::uint32_t clients = 4;
  Delay up = Delay::constant(100us);
  Delay down = Delay::constant(100us);
  double loss = 0;

  // Clocks; all but the offset also the master's in an isolated network.
  Nanos offset = 5ms;        // a client's clock starts within this of the master's
  double frequency = 50e-6;  // and runs within this of true time
  double wander = 1e-9;      // of its rate, per square root of a second
  double white = 0;          // of its phase, per square root of a second
  double aging = 0;          // of its rate, per second
  double temperature = 0;    // of its rate, to each side in the course of a day
  double worse_half = 1;     // the later half of the nodes wander so many times more
  bool isolated = false;     // no clock is perfect

  double rate = 1;  // requests per second and client
  std::uint32_t seconds = 4000;
  std::uint32_t discard = 1000;  // at the start, not judged

  // What happens on the way.
  Liars liars{};
  std::uint32_t lies_from = 0;  // second; 0: in the middle of what is judged
  std::optional<std::uint32_t> kill_master_at{};
  std::optional<std::uint32_t> change_at{};  // second of the following changes
  Nanos longer_up{0};                        // what is on the way up takes this much longer
  std::optional<Delay> later_up{};           // other delays altogether
  std::optional<Delay> later_down{};
  double clock_jump = 0;  // of the first client's clock, in seconds
  double rate_jump = 0;   // of its rate
  double diurnal = 0;  // delays above the least grow by this part in the middle of the day, hourly
  std::uint32_t churn = 0;  // every so many seconds a client crashes, and returns a minute later

  // The first so many clients carry UTC: true time, from kernel clocks that others keep to 100 us
  // and say are within 1 ms. The last of these are wrong by 100 ms and say the same.
  std::uint32_t trusted = 0;
  std::uint32_t utc_liars = 0;
  std::optional<std::uint32_t> leap_at{};  // second in which their kernels insert a leap second

  std::uint64_t seed = 1;

  std::uint32_t begin_of_lies() const {
    return lies_from != 0 ? lies_from : (seconds + discard) / 2;
  }
};

// At these spans, in seconds, Allan deviations are given.
inline constexpr std::array<int, 5> kTaus{1, 16, 64, 256, 1024};

struct Outcome {
  // In microseconds; of honest clients, after the part that is not judged.
  double rms = 0;  // client minus master
  double p99 = 0;
  double most = 0;
  double true_rms = 0;  // client minus true time
  double client_to_client_rms = 0;
  double spread_p99 = 0;         // largest minus smallest, master included
  double election_spread = 0;    // the largest in the minute after the master was killed
  double spread_before_p99 = 0;  // p99 of the spread until then
  // How much network time bends within a minute, at most: the second difference over 32 s, halved.
  double bend = 0;

  double converged_1ms = -1;   // seconds from the first Masterup; -1: never
  double converged_20us = -1;  // for good: for ten seconds at least

  std::uint64_t bound_violations = 0;  // from the start on
  double bound_width = 0;              // median
  double least_trip = 0;               // the least round trip a client met, on the mean

  std::array<double, kTaus.size()> member_adev{};    // of the median member's oscillator
  std::array<double, kTaus.size()> ensemble_adev{};  // of network time

  double packets_per_second = 0;  // sent by all machines together
  std::uint64_t steps = 0;        // of clocks, after the part that is not judged
  std::uint32_t master_changes = 0;
  std::uint64_t config_hash = 0;

  // By second, for pictures; not-a-number where there is none.
  std::vector<std::vector<double>> errors;  // of each client
  std::vector<double> widths;               // median over the clients
  std::vector<double> course;               // of the honest nodes' mean, us ahead of true time
};

Outcome run(const Experiment& experiment);

// How far apart the honest nodes' time was in two runs of one seed, rms in microseconds over the
// seconds `from` to `to`: with lies, and with the liars gone instead.
double apart(const Outcome& a, const Outcome& b, std::uint32_t from, std::uint32_t to);

// Runs with seeds from the experiment's on, on all cores; in the order of the seeds.
std::vector<Outcome> run_seeds(const Experiment& experiment, std::uint32_t seeds,
                               std::uint32_t threads = 0);

}  // namespace tempo::sim::sync
