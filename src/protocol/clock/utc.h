// Following UTC: slews network time to the UTC of trusted members, without a step.
//
// The kernel clock of a trusted member is disciplined by GPS, PTP or NTP. The member reports the
// offset of UTC from network time (the gap) and its error bound. Network time follows the largest
// consistent group of reports if it is a majority of all reports, and otherwise none. Network time
// then runs slightly faster or slower until the gap is closed. The frequency difference to UTC is
// learnt and kept in holdover, when no member reports. The rate bends slowly, because members
// predict network time by the last rate that they received, and their bounds rely on it. The gap is
// closed as fast as this limit allows, braking included.
#pragma once

#include <optional>
#include <span>

#include "base/units.h"

namespace tempo::clock {

// The report of one trusted member, in seconds.
struct UtcClaim {
  double gap = 0;    // UTC minus network time
  double bound = 0;  // maximum error of the gap; not negative
};

class UtcFollower {
 public:
  static constexpr double kMaxRate = 100e-6;
  static constexpr double kMaxBend = 3e-9;  // largest change of the rate, per second
  static constexpr double kPeriod = 64;  // seconds; a small gap is closed after about ten periods

  // One round, `elapsed` seconds after the last. Returns the rate to add to that of network time
  // until the next round.
  double round(double elapsed, std::span<const UtcClaim> claims);

  // UTC minus network time in the last round; empty: no majority agreed.
  std::optional<double> gap() const { return gap_; }
  double rate() const { return rate_; }

 private:
  std::optional<double> gap_;
  double trim_ = 0;  // learnt rate of UTC against network time
  double rate_ = 0;
};

// Leap smear: UTC without steps at leap seconds.
//
// The kernel inserts a leap second by stepping its clock back and its TAI offset forward at the
// same time. LeapSmear removes that step and distributes it over the following twenty thousand
// seconds, in the same way on every machine that had the step. A step without a change of the TAI
// offset was set by a user or a program and is not removed.
class LeapSmear {
 public:
  static constexpr double kSmearRate = 50e-6;  // seconds per second

  // UTC at `raw`, when the kernel clock shows `real` and the TAI offset is `tai` seconds. Calls
  // must be in the order of time.
  Nanos utc(Instant raw, Nanos real, int tai);

 private:
  struct Seen {
    Instant raw{};
    Nanos real{0};
    int tai = 0;
  };
  std::optional<Seen> last_;  // arguments of the last call
  Nanos remaining_{0};        // part of the leap seconds that is not yet distributed
};

}  // namespace tempo::clock
