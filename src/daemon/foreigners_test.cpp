#include "daemon/foreigners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using ::testing::HasSubstr;

TEST(Foreigners, AreToldOnceAndKnownForAMinute) {
  Foreigners foreigners;
  const Instant start{1000s};
  EXPECT_EQ(foreigners.about(start), "");
  const auto told = foreigners.hear(start, "192.0.2.7", 9);
  ASSERT_TRUE(told);
  EXPECT_THAT(*told, HasSubstr("192.0.2.7 speaks revision 9"));
  EXPECT_EQ(foreigners.hear(start + 50s, "192.0.2.8", 9), std::nullopt);
  EXPECT_THAT(foreigners.about(start + 100s), HasSubstr("192.0.2.8"));
  EXPECT_EQ(foreigners.about(start + 111s), "") << "it has gone, or was upgraded";
  EXPECT_TRUE(foreigners.hear(start + 200s, "192.0.2.7", 9));
}

}  // namespace
}  // namespace tempo::daemon
