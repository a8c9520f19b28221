#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "protocol/auth/replay_window.h"

namespace tempo::auth {
namespace {

// The window gives the same answers as a set of all numbers in which numbers below the window count
// as received.
RC_GTEST_PROP(ReplayWindowProperty, MatchesASet, ()) {
  ReplayWindow window;
  std::set<std::uint64_t> seen;
  std::uint64_t highest = 0;
  bool late = false;
  bool duplicate = false;
  const auto steps = *rc::gen::container<std::vector<int>>(
      *rc::gen::inRange<std::size_t>(1, 300),
      rc::gen::weightedOneOf<int>({{10, rc::gen::inRange(-40, 20)},
                                   {3, rc::gen::inRange(-300, 100)},
                                   {1, rc::gen::inRange(200, 600)}}));
  for (const int step : steps) {
    const std::int64_t wanted = static_cast<std::int64_t>(highest) + step;
    const std::uint64_t number = wanted < 0 ? 0 : static_cast<std::uint64_t>(wanted);
    const bool in_window = number + ReplayWindow::kWidth > highest && number > 0;
    const bool expected = in_window && !seen.contains(number);
    late |= expected && number < highest;
    duplicate |= in_window && !expected;
    RC_ASSERT(window.fresh(number) == expected);
    seen.insert(number);
    highest = std::max(highest, number);
  }
  RC_CLASSIFY(late, "late numbers");
  RC_CLASSIFY(duplicate, "duplicates");
}

}  // namespace
}  // namespace tempo::auth
