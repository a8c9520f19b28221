#include "live/daemon/state.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/number_text.h"
#include "live/sys/whole_file.h"

namespace tempo::daemon {
namespace {

constexpr double kMostRate = 1e-3;
constexpr std::int64_t kYear2020 = 1'577'836'800;
constexpr std::size_t kMostBytes = 4096;

std::string path_in(const std::string& directory) { return directory + "/state"; }

template <class Number>
void read_number(std::string_view text, Number& number) {
  number = parse_number<Number>(text).value_or(number);
}

}  // namespace

std::string state_text(const State& state) {
  return fmt::format("lives {}\nrate_ppt {}\n", state.lives, std::llround(state.rate * 1e12));
}

State parse_state(std::string_view text) {
  State state;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("lives ")) read_number(line.substr(6), state.lives);
    if (line.starts_with("rate_ppt ")) {
      std::int64_t rate = 0;
      read_number(line.substr(9), rate);
      const double fraction = static_cast<double>(rate) * 1e-12;
      if (std::abs(fraction) < kMostRate) state.rate = fraction;
    }
  }
  return state;
}

State read_state(const std::string& directory) {
  return parse_state(sys::read_file(path_in(directory), kMostBytes));
}

Result<void> write_state(const std::string& directory, const State& state) {
  return sys::replace_file(path_in(directory), state_text(state));
}

Incarnation next_life(const State& last, std::int64_t seconds_since_1970) {
  const std::int64_t by_clock = seconds_since_1970 - kYear2020;
  const std::int64_t next = std::max<std::int64_t>(std::int64_t{last.lives} + 1, by_clock);
  return Incarnation{static_cast<std::uint32_t>(std::clamp<std::int64_t>(next, 1, 0xfffffffe))};
}

}  // namespace tempo::daemon
