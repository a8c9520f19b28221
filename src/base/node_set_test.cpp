#include "base/node_set.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> listed(const NodeSet& set) {
  std::vector<std::uint32_t> nodes;
  set.for_each([&](NodeId node) { nodes.push_back(index(node)); });
  return nodes;
}

TEST(NodeSet, StartsEmpty) {
  const NodeSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.size(), 0U);
  EXPECT_EQ(set.highest(), kNobody);
  EXPECT_FALSE(set.contains(node_at(0)));
  EXPECT_THAT(listed(set), ElementsAre());
}

TEST(NodeSet, InsertAndEraseReportChanges) {
  NodeSet set;
  EXPECT_TRUE(set.insert(node_at(3)));
  EXPECT_FALSE(set.insert(node_at(3)));
  EXPECT_EQ(set.size(), 1U);
  EXPECT_TRUE(set.erase(node_at(3)));
  EXPECT_FALSE(set.erase(node_at(3)));
  EXPECT_TRUE(set.empty());
}

TEST(NodeSet, HoldsNodesAtWordBoundaries) {
  NodeSet set;
  for (const std::uint32_t i : {128U, 64U, 63U, 0U, 127U}) set.insert(NodeId{i});
  EXPECT_THAT(listed(set), ElementsAre(0, 63, 64, 127, 128));
  EXPECT_EQ(set.highest(), node_at(128));
  set.erase(node_at(128));
  EXPECT_EQ(set.highest(), node_at(127));
}

TEST(NodeSet, NeverContainsNobody) {
  NodeSet set;
  set.insert(NodeId{kMaxNodes - 1});
  EXPECT_FALSE(set.contains(kNobody));
  EXPECT_FALSE(set.erase(kNobody));
}

TEST(NodeSetDeathTest, RefusesInvalidNodes) {
  NodeSet set;
  EXPECT_DEATH(set.insert(NodeId{kMaxNodes}), "kMaxNodes");
  EXPECT_DEATH(set.insert(kNobody), "kMaxNodes");
}

}  // namespace
}  // namespace tempo
