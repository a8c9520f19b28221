// One exchange as two readings, and the frame that turns 64-bit stamps into seconds.
//
// Going out, received minus asked is the delay minus theta; coming back, heard minus answered is
// the delay plus theta. A reading plus or minus theta is therefore a delay, and no delay is
// negative: everything in this room follows from that. Seconds count from the first exchange and
// readings from its offset, so that a double holds picoseconds for years.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/exchange.h"

namespace tempo::clock {

enum class Direction : std::uint8_t { forward, reverse };
inline constexpr std::array kWays{Direction::forward, Direction::reverse};

constexpr std::size_t index(Direction way) { return static_cast<std::size_t>(way); }
constexpr Direction other(Direction way) {
  return way == Direction::forward ? Direction::reverse : Direction::forward;
}
// What theta must be multiplied by to make a delay of a reading.
constexpr double sign(Direction way) { return way == Direction::forward ? 1 : -1; }

struct Reading {
  double t = 0;      // local time at which it is valid
  double value = 0;  // delay minus sign * theta

  double delay(Direction way, const Line& theta) const { return value + sign(way) * theta.at(t); }
};

struct Sample {
  std::array<Reading, 2> ways;

  const Reading& operator[](Direction way) const { return ways[index(way)]; }
  Reading& operator[](Direction way) { return ways[index(way)]; }
  double round_trip() const { return ways[0].value + ways[1].value; }
  double middle() const { return (ways[1].value - ways[0].value) / 2; }  // theta, if symmetric
  double when() const { return (ways[0].t + ways[1].t) / 2; }
};

class Frame {
 public:
  // Nothing if no clocks and no network could have made these stamps.
  std::optional<Sample> sample(const Exchange& exchange);

  double seconds(Instant at) const;
  // Theta as stamps have it, from theta as samples have it; rounded down or up.
  Nanos theta_down(double theta) const;
  Nanos theta_up(double theta) const;
  // From now on every stamp of the reference is `by` smaller, so that theta is `by` larger.
  void shift(Nanos by) { offset_ += by; }

 private:
  std::optional<Instant> start_;  // set by the first good exchange
  Nanos offset_{0};               // theta of the first exchange, delay included
};

}  // namespace tempo::clock
