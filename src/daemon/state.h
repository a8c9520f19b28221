// What a daemon remembers from one life to the next: the number of its lives, and its clock's rate.
//
// One small text file, replaced as a whole, so that a crash leaves the old or the new one. A file
// that is missing or damaged is no reason not to start: then nothing is remembered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace tempo::daemon {

struct State {
  std::uint32_t lives = 0;  // the incarnation of the last life
  double rate = 0;          // of network time over the raw clock

  bool operator==(const State&) const = default;
};

std::string state_text(const State& state);
State parse_state(std::string_view text);  // what is not understood stays at its default

// A rate alone, as the file has it; nothing if that is no number, or nobody's clock.
std::string rate_text(double rate);
std::optional<double> parse_rate(std::string_view text);

State read_state(const std::string& directory);
Result<void> write_state(const std::string& directory, const State& state);

// The incarnation of a new life: above that of the last, and above the seconds since 2020, so that
// lives are ordered even if the file was lost.
Incarnation next_life(const State& last, std::int64_t seconds_since_1970);

}  // namespace tempo::daemon
