#include "lab/report/bars.h"

#include <gtest/gtest.h>

namespace tempo::report {
namespace {

TEST(Bars, AreProportionalToTheShare) {
  EXPECT_EQ(bars({{"1", "0.25", 0.25}, {"10", "0.5", 0.5}, {"2", "0", 0}}, 28, false),
            " 1  0.25  #########\n"
            "10  0.5   ##################\n"
            " 2  0\n");
}

TEST(Bars, UseEighthsOfAColumn) {
  EXPECT_EQ(bars({{"a", "1", 80}, {"b", "1", 3}}, 16, true), "a  1  ██████████\nb  1  ▍\n");
}

TEST(Bars, KeepAMinimumLength) {
  EXPECT_EQ(bars({{"a", "1", 1}}, 3, false), "a  1  ##########\n");
  EXPECT_EQ(bars({}, 80, true), "");
}

}  // namespace
}  // namespace tempo::report
