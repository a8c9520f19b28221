#include "base/number_text.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace tempo {
namespace {

TEST(NumberText, AcceptsOnlyNumbers) {
  EXPECT_EQ(parse_number<std::uint32_t>("0"), 0U);
  EXPECT_EQ(parse_number<std::uint32_t>("4294967295"), 4'294'967'295U);
  EXPECT_EQ(parse_number<std::int64_t>("-7"), -7);
  EXPECT_EQ(parse_number<double>("0.25"), 0.25);
  for (const char* const text : {"", " 1", "1 ", "1x", "-1", "+1", "x", "4294967296", "0.5"})
    EXPECT_EQ(parse_number<std::uint32_t>(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tempo
