// A clock as a line over raw time: what it shows at each instant, and how fast it runs.
//
// This is the clock that is steered. A step moves it, a change of rate bends it where it is;
// between the two it is exactly predictable, forwards and a little backwards.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"

namespace tempo::clock {

class SteeredClock {
 public:
  SteeredClock() = default;
  SteeredClock(Instant at, WallTime shows, double rate)
      : anchor_(at), shows_(shows.time_since_epoch()), rate_(whole(rate)) {}

  WallTime at(Instant raw) const {
    const Nanos passed = raw - anchor_;
    const double gained = static_cast<double>(passed.count()) * rate();
    return WallTime{shows_ + passed + Nanos{std::llround(gained)}};
  }

  // How much faster than raw time it runs: 1e-6 is a microsecond a second.
  double rate() const { return static_cast<double>(rate_) * 1e-15; }

  // From `now` on; nothing that was shown changes.
  void set_rate(Instant now, double rate) {
    CHECK(rate > -0.5 && rate < 0.5);
    shows_ = at(now).time_since_epoch();
    anchor_ = now;
    rate_ = whole(rate);
  }
  void step(Nanos by) { shows_ += by; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("anchor", self.anchor_);
    visit("shows", self.shows_);
    visit("rate", self.rate_);
  }

 private:
  static std::int64_t whole(double rate) { return std::llround(rate * 1e15); }

  Instant anchor_{};
  Nanos shows_{0};         // at the anchor, since 1970
  std::int64_t rate_ = 0;  // parts in 10^15
};

}  // namespace tempo::clock
