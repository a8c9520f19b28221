#include "base/check.h"

#include <gtest/gtest.h>

namespace tempo {
namespace {

TEST(Check, PassesWhatHolds) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);  // once: a condition may have effects
}

TEST(CheckDeathTest, StopsTheProgramWithThePlaceAndTheCondition) {
  const int two = 2;
  EXPECT_DEATH(CHECK(two == 3), "check_test.cpp:[0-9]+: this must not happen: not \\(two == 3\\)");
}

}  // namespace
}  // namespace tempo
