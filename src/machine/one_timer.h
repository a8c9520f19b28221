// The timer set of a machine that has one timer or shows the first of many as one.
#pragma once

#include <cstddef>

#include "base/units.h"
#include "machine/timers.h"

namespace tempo {

template <TimePoint Time>
class OneTimer {
 public:
  explicit OneTimer(Time when) : when_(when) {}
  Time first() const { return when_; }
  static TimerId first_name() { return TimerId{0}; }
  Time at(TimerId /*timer*/) const { return when_; }
  static constexpr std::size_t size() { return 1; }

 private:
  Time when_;
};

}  // namespace tempo
