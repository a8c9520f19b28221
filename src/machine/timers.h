// A fixed, named set of timers.
//
// The machine sets and stops timers by name; the driver asks for the first deadline. A name enum
// ends with `count`. When a timer fires, the machine stops it with `take_due`, not the driver.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/units.h"
#include "machine/fields.h"

namespace tempo {

// A timer as the driver sees it: its index in the machine's set.
enum class TimerId : std::uint8_t {};

template <class Name, TimePoint Time = Instant>
class Timers {
 public:
  static constexpr std::size_t kCount = std::to_underlying(Name::count);
  static_assert(kCount > 0 && kCount < 256);

  Timers() { at_.fill(kNever); }

  void set(Name name, Time when) { at_[std::to_underlying(name)] = when; }
  void stop(Name name) { set(name, kNever); }
  void stop_all() { at_.fill(kNever); }

  Time at(Name name) const { return at_[std::to_underlying(name)]; }
  Time at(TimerId timer) const { return at_[std::to_underlying(timer)]; }
  bool running(Name name) const { return at(name) != kNever; }
  static constexpr std::size_t size() { return kCount; }

  Time first() const {
    Time earliest = at_[0];
    for (std::size_t i = 1; i < kCount; ++i) earliest = std::min(earliest, at_[i]);
    return earliest;
  }

  // The timer with the earliest deadline; among equal deadlines the first in the enum.
  TimerId first_name() const {
    return TimerId{static_cast<std::uint8_t>(std::ranges::min_element(at_) - at_.begin())};
  }

  // Whether this timer is due; it then no longer runs.
  bool take_due(TimerId timer, Time now) {
    Time& when = at_[std::to_underlying(timer)];
    if (now < when) return false;
    when = kNever;
    return true;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [at] = self;
    for (auto& instant : at) visit_as<role::timer>(visit, "timer", instant);
  }

 private:
  std::array<Time, kCount> at_;
};

// The first timer of a set, if it is due; unset: none is due.
std::optional<TimerId> first_due(const auto& timers, TimePoint auto now) {
  if (now < timers.first()) return std::nullopt;
  return timers.first_name();
}

constexpr TimerId timer_id(auto name) { return TimerId{static_cast<std::uint8_t>(name)}; }

}  // namespace tempo
