// State kept across restarts: the incarnation, the rate of the clock and the time of the last write.
//
// One small record (platform/whole_file.h). A lost record does not prevent the start: the
// predecessor or the defaults apply, and the caller gets the reason for the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace tempo::daemon {

struct State {
  std::uint32_t incarnation = 0;  // of the last run; 0: none
  double rate = 0;                // rate of network time relative to the raw clock, minus 1
  std::int64_t written_s = 0;     // system clock at the last write, seconds since 1970; 0: unknown

  bool operator==(const State&) const = default;
};

std::string state_text(const State& state);
State parse_state(std::string_view text);  // unknown or invalid values keep their defaults

// A rate as the file has it; nothing if it is no number or implausibly large.
std::string rate_text(double rate);
std::optional<double> parse_rate(std::string_view text);

std::int64_t system_seconds();  // system clock, seconds since 1970

struct LoadedState {
  State state{};
  std::string lost{};  // reason why the record could not be used; empty: good or absent
};
LoadedState read_state(const std::string& directory);
Result<void> write_state(const std::string& directory, const State& state);

// The next incarnation: above the last one and above the seconds since 2020, so that incarnations
// are ordered even if the file was lost. With neither file nor clock it is `random`, below those of
// the clock: a machine without both must not repeat its incarnation.
Incarnation next_incarnation(const State& last, std::int64_t seconds_since_1970,
                             std::uint64_t random);
// An incarnation without an order, below those of the clock.
Incarnation random_incarnation(std::uint64_t random);

}  // namespace tempo::daemon
