// Time synchronization of complete nodes in a simulated network: parameters and results.
//
// Node 0 starts first and becomes master; the clients start within half a second. Unless the
// network is isolated, node 0's oscillator is perfect. Every client's clock starts with an offset,
// has a rate error and wanders; every datagram takes the delay of its direction: up towards the
// master, down from it. One seed determines a run.
//
// Every second each clock is compared with the master's, with the others and with true time, and
// its stated error bound with the true error, ten times a second in the first minute and in the
// minute after each event. A disturbance counts as an event from its beginning to its end. Network
// time is the reading of the highest-epoch master's steered clock. While this master lies, network
// time is the clock of the last honest master at the last reading before the first lie,
// extrapolated in true time at its rate in the minute before. When the liar resigns, the next
// master's clock counts at once.
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
  constant,  // from some time on, every statement about its clock is 10 ms off
  drifting,  // from some time on, its error grows by 100 us per second
  random,    // from some time on, each datagram is off by up to 10 ms in either direction
  gone,      // from some time on, it is silent: the case that lies are compared with
};
std::string_view name_of(Lie lie);
// Written as "2:drifting": number of liars, and kind of lie.
struct Liars {
  std::uint32_t count = 0;
  Lie lie = Lie::none;
  bool master = false;  // one liar is the master; the others are the last clients
};
Result<Liars> parse_liars(std::string_view text);

// A relative frequency: 50ppm, 3ppb, or a plain number such as 2e-6.
Result<double> parse_frequency(std::string_view text);

// A disturbance of one clock. Written as "NODE:rate:5ppm@2000", "NODE:jump:-200us@2000" or
// "NODE:ramp:5ppm/300@2000", where NODE 0 is the first master, the number after @ is the second of
// its beginning, and the number after / the length of a ramp in seconds.
struct Disturbance {
  enum class What : std::uint8_t {
    rate_step,   // the rate changes by `amount` at once
    clock_jump,  // the clock jumps by `amount` seconds
    ramp,        // the rate changes by `amount`, evenly over `lasts` seconds
  };
  std::uint32_t node = 0;
  What what = What::rate_step;
  double amount = 0;
  std::uint32_t from = 0;   // second of its beginning
  std::uint32_t lasts = 0;  // seconds; 0: not a ramp

  std::uint32_t until() const { return from + lasts; }
};
Result<Disturbance> parse_disturbance(std::string_view text);

struct Experiment {
  std::uint32_t clients = 4;
  Delay up = Delay::constant(100us);
  Delay down = Delay::constant(100us);
  double loss = 0;

  // Clocks; in an isolated network all but the offset also apply to the master.
  Nanos offset = 5ms;        // largest initial offset of a client's clock from the master's
  double frequency = 50e-6;  // largest initial rate error
  double wander = 1e-9;      // random walk of the rate, per square root of a second
  double white = 0;          // white noise of the phase, per square root of a second
  double aging = 0;          // change of the rate, per second
  double temperature = 0;    // amplitude of the daily variation of the rate
  double worse_half = 1;     // factor on the wander of the later half of the nodes
  bool isolated = false;     // no clock is perfect

  double rate = 1;           // requests per second and client
  double rate_jump_max = 0;  // change of a rate at once that every bound allows for
  std::uint32_t seconds = 4000;
  std::uint32_t discard = 1000;  // seconds at the start that are not evaluated

  // Events during the run.
  Liars liars{};
  std::uint32_t lies_from = 0;  // second of the first lie; 0: in the middle of the evaluated part
  std::optional<std::uint32_t> kill_master_at{};
  std::optional<std::uint32_t> change_at{};  // second of the following changes
  Nanos longer_up{0};                        // added to the delays towards the master
  std::optional<Delay> later_up{};           // replacement for the delays towards the master
  std::optional<Delay> later_down{};
  double clock_jump = 0;  // jump of the first client's clock, in seconds
  double rate_jump = 0;   // change of its rate
  std::vector<Disturbance> disturbances{};
  double diurnal = 0;  // delays above the minimum grow by this fraction in the middle of each hour
  // Seconds between crashes of a client; it returns after a minute; 0: none.
  std::uint32_t churn = 0;

  // Number of clients, the lowest ids, that provide UTC: true time from kernel clocks that are
  // within 100 us and claim 1 ms. The last of these are wrong by 100 ms and claim the same.
  std::uint32_t trusted = 0;
  std::uint32_t utc_liars = 0;
  std::optional<std::uint32_t> leap_at{};  // second in which their kernels insert a leap second

  std::uint64_t seed = 1;

  std::uint32_t begin_of_lies() const {
    return lies_from != 0 ? lies_from : (seconds + discard) / 2;
  }
};

// Averaging times of the Allan deviations, in seconds.
inline constexpr std::array<int, 5> kTaus{1, 16, 64, 256, 1024};

struct Outcome {
  // In microseconds; honest clients, without the discarded part.
  double rms = 0;  // client minus master
  double p99 = 0;
  double most = 0;
  double true_rms = 0;  // client minus true time
  double client_to_client_rms = 0;
  double spread_p99 = 0;         // largest minus smallest clock, master included
  double election_spread = 0;    // largest spread in the minute after the master was killed
  double spread_before_p99 = 0;  // 99th percentile of the spread until then
  // Largest bend of network time within a minute: half the second difference over 32 s.
  double bend = 0;

  double converged_1ms = -1;   // seconds from the first Masterup; -1: never
  double converged_20us = -1;  // the same, within 20 us for at least ten seconds

  std::uint64_t bound_violations = 0;  // from the start of the run
  double bound_width = 0;              // median width of the bounds
  double least_trip = 0;               // smallest round trip of a client, mean over the clients

  std::array<double, kTaus.size()> member_adev{};    // oscillator of the median member
  std::array<double, kTaus.size()> ensemble_adev{};  // network time

  double packets_per_second = 0;  // sent by all machines together
  std::uint64_t steps = 0;        // clock steps after the discarded part
  std::uint32_t master_changes = 0;
  std::uint64_t config_hash = 0;

  // By second, for plots; NaN where there is no value.
  std::vector<std::vector<double>> errors;  // by client
  std::vector<double> widths;               // median over the clients
  std::vector<double> course;               // mean of the honest nodes, us ahead of true time
};

Outcome run(const Experiment& experiment);

// Rms difference, in microseconds, of the honest nodes' time between two runs of one seed over the
// seconds `from` to `to`: a run with lies, and a run in which the liars are gone instead.
double apart(const Outcome& a, const Outcome& b, std::uint32_t from, std::uint32_t to);

// Runs consecutive seeds, starting with the experiment's, on all cores; results are in seed order.
std::vector<Outcome> run_seeds(const Experiment& experiment, std::uint32_t seeds,
                               std::uint32_t threads = 0);

}  // namespace tempo::sim::sync
