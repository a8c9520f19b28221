// Following UTC: the time scale comes to what trusted members carry, without a step.
//
// A trusted member's kernel clock is disciplined from outside, by GPS, PTP or NTP, and it says how
// far UTC is from network time and how wrong that can be. Those who agree are the largest group
// whose claims meet; it must be a majority of those who speak, else nobody is followed. Network
// time then runs a little faster or slower until the gap is closed, never by a jump; what UTC's own
// rate differs by is learnt, and kept when nobody speaks any more. The rate itself bends slowly,
// because members predict network time by the rate they last heard of, and their bounds rely on it:
// a gap is closed as fast as one can that must also brake in time.
#pragma once

#include <optional>
#include <span>

#include "base/units.h"

namespace tempo::clock {

// What one trusted member says, in seconds.
struct UtcClaim {
  double gap = 0;    // UTC minus network time
  double bound = 0;  // the gap is certainly within so much of it; not negative
};

class UtcFollower {
 public:
  static constexpr double kMaxRate = 100e-6;
  static constexpr double kMaxBend = 3e-9;  // change of the rate, per second
  static constexpr double kPeriod = 64;     // seconds; a small gap is gone after some ten of them

  // One round, `elapsed` seconds after the last. The rate at which network time is to run beside
  // its own until the next.
  double round(double elapsed, std::span<const UtcClaim> claims);

  // UTC minus network time at the last round, by those who agreed; nothing if nobody did.
  std::optional<double> gap() const { return gap_; }
  double rate() const { return rate_; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("trim", self.trim_);
    visit("rate", self.rate_);
  }

 private:
  std::optional<double> gap_;
  double trim_ = 0;  // of UTC against network time, as learnt
  double rate_ = 0;
};

// A clock that makes leap seconds, read as one that does not.
//
// The kernel inserts a leap second by stepping its clock back and its TAI offset forward at one
// instant. That step is taken out, and given back over the twenty thousand seconds that follow: the
// same on every machine that saw it. A step without its TAI offset is somebody's doing and shows.
class LeapSmear {
 public:
  static constexpr double kGivenBack = 50e-6;  // seconds a second

  // UTC at `raw`, where the kernel's clock showed `real`, `tai` seconds behind TAI. In order.
  Nanos utc(Instant raw, Nanos real, int tai);

 private:
  struct Seen {
    Instant raw{};
    Nanos real{0};
    int tai = 0;
  };
  std::optional<Seen> last_;
  Nanos owed_{0};  // what the clock shows less than without its leap seconds
};

}  // namespace tempo::clock
