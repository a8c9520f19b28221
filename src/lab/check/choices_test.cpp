#include "lab/check/choices.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::check {
namespace {

using ::testing::ElementsAre;

TEST(EveryDraw, EnumeratesEveryCombinationOnce) {
  EveryDraw draw;
  std::vector<std::string> rows;
  do {
    // Some values of the first draw skip the second one.
    std::string row = std::to_string(draw.below(3));
    if (row != "1") row += std::to_string(draw.below(2));
    rows.push_back(row);
  } while (draw.advance());
  EXPECT_THAT(rows, ElementsAre("00", "01", "1", "20", "21"));
}

}  // namespace
}  // namespace tempo::check
