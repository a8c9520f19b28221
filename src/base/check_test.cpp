#include "base/check.h"

#include <gtest/gtest.h>

namespace tempo {
namespace {

TEST(Check, EvaluatesTheConditionOnce) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);  // a condition may have side effects
}

TEST(CheckDeathTest, AbortsWithTheLocationAndTheCondition) {
  const int two = 2;
  EXPECT_DEATH(CHECK(two == 3), "check_test.cpp:[0-9]+: CHECK failed: two == 3");
}

}  // namespace
}  // namespace tempo
