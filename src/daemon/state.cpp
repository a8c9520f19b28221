#include "daemon/state.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <time.h>

#include "base/number_text.h"
#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

constexpr double kMaxRate = 1e-3;
constexpr std::int64_t kYear2020 = 1'577'836'800;
constexpr std::uint64_t kRandomIncarnations = 1U << 27;  // seconds from 2020 to 2024
constexpr std::size_t kMaxBytes = 4096;

constexpr std::int64_t kMaxSeconds = 4'102'444'800;  // 2100; a later time is a damaged clock

std::string path_in(const std::string& directory) { return directory + "/state"; }

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  const auto number = parse_number<std::int64_t>(text);
  return number && *number >= 0 && *number <= kMaxSeconds ? number : std::nullopt;
}

}  // namespace

std::string state_text(const State& state) {
  return fmt::format("lives {}\nrate_ppt {}\nwritten_s {}\n", state.incarnation,
                     rate_text(state.rate), state.written_s);
}

std::string rate_text(double rate) { return fmt::format("{}", std::llround(rate * 1e12)); }

std::optional<double> parse_rate(std::string_view text) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number) return std::nullopt;
  const double rate = static_cast<double>(*number) * 1e-12;
  return std::abs(rate) < kMaxRate ? std::optional(rate) : std::nullopt;
}

State parse_state(std::string_view text) {
  State state;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("lives "))
      state.incarnation = parse_number<std::uint32_t>(line.substr(6)).value_or(state.incarnation);
    if (line.starts_with("rate_ppt ")) state.rate = parse_rate(line.substr(9)).value_or(state.rate);
    if (line.starts_with("written_s "))
      state.written_s = parse_seconds(line.substr(10)).value_or(state.written_s);
  }
  return state;
}

std::int64_t system_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec;
}

LoadedState read_state(const std::string& directory) {
  const sys::Record record = sys::read_record(path_in(directory), kMaxBytes);
  if (record.state != sys::FileState::lost) return {.state = parse_state(record.text)};
  LoadedState loaded{
      .state = parse_state(record.previous.value_or("")),
      .lost = fmt::format("{}; {}", record.error,
                          record.previous ? "using the state saved before it"
                                          : "the rate of the clock must be learned again")};
  // The lost record may have counted one more incarnation.
  if (record.previous) ++loaded.state.incarnation;
  return loaded;
}

Result<void> write_state(const std::string& directory, const State& state) {
  return sys::write_record(path_in(directory), state_text(state));
}

Incarnation next_incarnation(const State& last, std::int64_t seconds_since_1970,
                             std::uint64_t random) {
  constexpr std::int64_t kMax = 0xfffffffe;
  const std::int64_t by_clock = std::min(seconds_since_1970 - kYear2020, kMax);
  const bool counts = last.incarnation != 0 && last.incarnation < kMax;
  const std::int64_t next = std::max(by_clock, counts ? std::int64_t{last.incarnation} + 1 : 0);
  if (next > 0) return Incarnation{static_cast<std::uint32_t>(next)};
  return random_incarnation(random);
}

Incarnation random_incarnation(std::uint64_t random) {
  return Incarnation{static_cast<std::uint32_t>(1 + random % kRandomIncarnations)};
}

}  // namespace tempo::daemon
