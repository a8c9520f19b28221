#include "protocol/node/node.h"

#include <gtest/gtest.h>

#include "protocol/node/node_test_world.h"

namespace tempo::node {
namespace {

TEST(Node, EightClocksHalfASecondApartAgreeWithinTenSeconds) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    NodeWorld network({.seed = seed});
    network.start_all();
    EXPECT_GT(network.spread(), 1ms);
    while (network.watch().first_masterup == kNever) network.run(10ms);
    network.run(10s);
    EXPECT_LT(network.spread(), 1ms) << "seed " << seed;
    EXPECT_NE(network.master(), kNobody) << "seed " << seed;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const Reading reading = network.reading(i);
      EXPECT_TRUE(reading.status == Reading::Status::synchronized ||
                  reading.status == Reading::Status::leads);
    }
    // Each was set once and slewed from then on.
    EXPECT_EQ(network.watch().steps, 7U) << "seed " << seed;
  }
}

// Network time is the master's reading: every bound must hold it.
TEST(Node, BoundsHoldNetworkTime) {
  NodeWorld network({.seed = 7});
  network.start_all();
  network.run(12s);
  ASSERT_NE(network.master(), kNobody);
  for (int round = 0; round < 200; ++round) {
    network.run(97ms);
    const WallTime truth = network.reading(index(network.master())).time;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const Reading reading = network.reading(i);
      EXPECT_LE(reading.earliest, truth);
      EXPECT_GE(reading.latest, truth);
      EXPECT_LT(reading.latest - reading.earliest, 2ms);
    }
  }
}

}  // namespace
}  // namespace tempo::node
