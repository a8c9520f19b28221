// A sample: one exchange as two readings, and the frame that converts 64-bit timestamps to seconds.
//
// In the forward direction, received minus asked is the delay minus theta; in the reverse
// direction, heard minus answered is the delay plus theta. A reading plus or minus theta is
// therefore a delay, and no delay is negative: the whole estimator relies on this. Times count from
// the first exchange and readings from its offset, so that a double has a resolution of picoseconds
// for years.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/exchange.h"

namespace tempo::clock {

enum class Direction : std::uint8_t { forward, reverse };
inline constexpr std::array kDirections{Direction::forward, Direction::reverse};

constexpr std::size_t index(Direction direction) { return static_cast<std::size_t>(direction); }
constexpr Direction other(Direction direction) {
  return direction == Direction::forward ? Direction::reverse : Direction::forward;
}
// The sign of theta in delay = reading + sign * theta.
constexpr double sign(Direction direction) { return direction == Direction::forward ? 1 : -1; }

struct Reading {
  double t = 0;      // local time of the reading, in seconds
  double value = 0;  // delay minus sign * theta, in seconds

  double delay(Direction direction, const Line& theta) const {
    return value + sign(direction) * theta.at(t);
  }
};

struct Sample {
  std::array<Reading, 2> readings;

  const Reading& operator[](Direction direction) const { return readings[index(direction)]; }
  Reading& operator[](Direction direction) { return readings[index(direction)]; }
  double round_trip() const { return readings[0].value + readings[1].value; }
  // Theta, if the path is symmetric.
  double middle() const { return (readings[1].value - readings[0].value) / 2; }
  double when() const { return (readings[0].t + readings[1].t) / 2; }
};

class Frame {
 public:
  // The sample of an exchange; empty if its timestamps are impossible.
  std::optional<Sample> sample(const Exchange& exchange);

  double seconds(Instant at) const;
  // Converts theta from seconds of this frame to nanoseconds of the timestamps; rounds down or up.
  Nanos theta_down(double theta) const;
  Nanos theta_up(double theta) const;
  // From now on every timestamp of the reference is `by` lower, so that theta is `by` higher.
  void shift(Nanos by) { offset_ += by; }

 private:
  std::optional<Instant> start_;  // start of the frame; empty before the first valid exchange
  Nanos offset_{0};               // theta of the first exchange, delay included
};

}  // namespace tempo::clock
