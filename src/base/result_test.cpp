#include "base/result.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace tempo {
namespace {

enum class Failure { odd, negative };

Result<int, Failure> half(int number) {
  if (number < 0) return std::unexpected(Failure::negative);
  if (number % 2 != 0) return std::unexpected(Failure::odd);
  return number / 2;
}

Result<std::string, Failure> quarter(int number) {
  TRY(two, half(number));
  TRY(four, half(two));
  return std::to_string(four);
}

TEST(Try, BindsTheValue) { EXPECT_EQ(quarter(12), "3"); }

TEST(Try, ReturnsTheFirstFailure) {
  EXPECT_EQ(quarter(-4), std::unexpected(Failure::negative));
  EXPECT_EQ(quarter(7), std::unexpected(Failure::odd));
  EXPECT_EQ(quarter(6), std::unexpected(Failure::odd));
}

Result<std::unique_ptr<int>> made() { return std::make_unique<int>(5); }
Result<int> taken() {
  TRY(owned, made());
  return *owned;
}

TEST(Try, MovesMoveOnlyValues) { EXPECT_EQ(taken(), 5); }

Result<int> refused() { return std::unexpected("no such lock"); }
Result<std::string> propagated() {
  TRY(number, refused());
  return std::to_string(number);
}

TEST(Try, ReturnsAnErrorMessage) { EXPECT_EQ(propagated().error(), "no such lock"); }

}  // namespace
}  // namespace tempo
