#include "base/node_map.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace tempo {
namespace {

TEST(NodeMap, StartsEmpty) {
  const NodeMap<int> map;
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.find(node_at(0)), nullptr);
  EXPECT_TRUE(map.sorted().empty());
}

TEST(NodeMap, DefaultConstructsNewValues) {
  NodeMap<int> map;
  EXPECT_EQ(map[node_at(5)], 0);
  map[node_at(5)] = 7;
  EXPECT_EQ(map[node_at(5)], 7);
  EXPECT_EQ(map.size(), 1U);
}

TEST(NodeMap, NeverHoldsNobody) {
  NodeMap<int> map;
  EXPECT_EQ(map.find(kNobody), nullptr);
  map[node_at(5)] = 7;
  EXPECT_EQ(map.find(kNobody), nullptr);
}

TEST(NodeMap, IsEmptyAfterClear) {
  NodeMap<int> map;
  for (std::uint32_t i = 0; i < 100; ++i) map[NodeId{i}] = 1;
  map.clear();
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.find(node_at(50)), nullptr);
  EXPECT_EQ(map[node_at(50)], 0);
}

TEST(NodeMap, HoldsAHundredThousandNodes) {
  NodeMap<std::uint32_t> map;
  for (std::uint32_t i = 0; i < 100'000; ++i) map[NodeId{i * 10 % kMaxNodes}] = i;
  EXPECT_EQ(map.size(), 100'000U);
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::uint32_t* value = map.find(NodeId{i * 10 % kMaxNodes});
    ASSERT_NE(value, nullptr);
    ASSERT_EQ(*value, i);
  }
}

TEST(NodeMapDeathTest, RefusesInvalidNodes) {
  NodeMap<int> map;
  EXPECT_DEATH(map[NodeId{kMaxNodes}], "kMaxNodes");
  EXPECT_DEATH(map[kNobody], "kMaxNodes");
}

}  // namespace
}  // namespace tempo
