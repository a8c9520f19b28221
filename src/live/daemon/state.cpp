#include "live/daemon/state.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number_text.h"

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
  std::ifstream file(path_in(directory), std::ios::binary);
  std::string text(kMostBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_state(text);
}

Result<void> write_state(const std::string& directory, const State& state) {
  const std::string path = path_in(directory);
  const std::string fresh = path + ".new";
  const auto failed = [&](const char* what) {
    return std::unexpected(fmt::format("cannot {} {}: {}", what, fresh, std::strerror(errno)));
  };
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return failed("write");
  const std::string text = state_text(state);
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  if (::close(file) != 0 || !whole) return failed("write");
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed("rename");
  return {};
}

Incarnation next_life(const State& last, std::int64_t seconds_since_1970) {
  const std::int64_t by_clock = seconds_since_1970 - kYear2020;
  const std::int64_t next = std::max<std::int64_t>(std::int64_t{last.lives} + 1, by_clock);
  return Incarnation{static_cast<std::uint32_t>(std::clamp<std::int64_t>(next, 1, 0xfffffffe))};
}

}  // namespace tempo::daemon
