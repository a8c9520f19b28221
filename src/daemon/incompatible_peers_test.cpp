#include "daemon/incompatible_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using ::testing::HasSubstr;

TEST(IncompatiblePeers, AreToldOnceAndKnownForAMinute) {
  IncompatiblePeers incompatible_peers;
  const Instant start{1000s};
  EXPECT_EQ(incompatible_peers.about(start), "");
  const auto told = incompatible_peers.receive(start, "192.0.2.7", 9);
  ASSERT_TRUE(told);
  EXPECT_THAT(*told, HasSubstr("192.0.2.7 speaks revision 9"));
  EXPECT_EQ(incompatible_peers.receive(start + 50s, "192.0.2.8", 9), std::nullopt);
  EXPECT_THAT(incompatible_peers.about(start + 100s), HasSubstr("192.0.2.8"));
  EXPECT_EQ(incompatible_peers.about(start + 111s), "") << "it has gone, or was upgraded";
  EXPECT_TRUE(incompatible_peers.receive(start + 200s, "192.0.2.7", 9));
}

}  // namespace
}  // namespace tempo::daemon
