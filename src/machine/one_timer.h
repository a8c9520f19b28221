// The timer set of a machine that has one timer or shows the first of many as one.
#pragma once

#include <cstddef>

#include "base/units.h"
#include "machine/timers.h"

namespace tempo {

class OneTimer {
 public:
  explicit OneTimer(Instant when) : when_(when) {}
  Instant first() const { return when_; }
  static TimerId first_name() { return TimerId{0}; }
  Instant at(TimerId /*timer*/) const { return when_; }
  static constexpr std::size_t size() { return 1; }

 private:
  Instant when_;
};

}  // namespace tempo
