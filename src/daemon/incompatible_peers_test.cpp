#include "daemon/incompatible_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using ::testing::HasSubstr;

TEST(IncompatiblePeers, AreReportedOnceAndExpire) {
  IncompatiblePeers incompatible_peers;
  const Instant start{1000s};
  EXPECT_EQ(incompatible_peers.about(start), "");
  const auto warning = incompatible_peers.receive(start, "192.0.2.7", 9);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, HasSubstr("192.0.2.7 uses protocol revision 9"));
  EXPECT_EQ(incompatible_peers.receive(start + 50s, "192.0.2.8", 9), std::nullopt);
  EXPECT_THAT(incompatible_peers.about(start + 100s), HasSubstr("192.0.2.8"));
  EXPECT_EQ(incompatible_peers.about(start + 111s), "") << "it stopped or was upgraded";
  EXPECT_TRUE(incompatible_peers.receive(start + 200s, "192.0.2.7", 9));
}

}  // namespace
}  // namespace tempo::daemon
