#include "protocol/wire/directory.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::wire {
namespace {

TEST(Directory, NumbersAHostByTheTopOfItsId) {
  Directory directory;
  const Directory::Host* host = directory.admit(HostId{0x8000'0000'0000'0001});
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(host->node, NodeId{0x80000});
  EXPECT_EQ(directory.host_of(NodeId{0x80000}), HostId{0x8000'0000'0000'0001});
  EXPECT_EQ(directory.admit(HostId{0x8000'0000'0000'0001}), host);
  EXPECT_EQ(directory.size(), 1U);
}

TEST(Directory, NeighboursKeepTheirOrder) {
  Directory directory;
  const NodeId middle = directory.admit(HostId{0x8000'0000'0000'0005})->node;
  EXPECT_EQ(directory.admit(HostId{0x8000'0000'0000'0009})->node, NodeId{index(middle) + 1});
  EXPECT_EQ(directory.admit(HostId{0x8000'0000'0000'0001})->node, NodeId{index(middle) - 1});
}

TEST(Directory, RefusesAHostWithoutAFreeNumberBetweenItsNeighbours) {
  Directory directory;
  ASSERT_NE(directory.admit(HostId{0x8000'0000'0000'0001}), nullptr);
  ASSERT_NE(directory.admit(HostId{0x8000'0000'0000'0009}), nullptr);
  EXPECT_EQ(directory.admit(HostId{0x8000'0000'0000'0005}), nullptr);
  EXPECT_EQ(directory.size(), 2U);
}

TEST(Directory, RefusesHostZeroAndTooManyHosts) {
  Directory directory;
  EXPECT_EQ(directory.admit(kNoHost), nullptr);
  for (std::uint64_t i = 0; i < Directory::kMaxHosts; ++i)
    ASSERT_NE(directory.admit(HostId{(i << 46) + 1}), nullptr) << i;
  EXPECT_EQ(directory.admit(HostId{~std::uint64_t{0}}), nullptr);
}

TEST(Directory, DoesNotFindUnknownHosts) {
  Directory directory;
  directory.admit(HostId{1});
  EXPECT_EQ(directory.find(HostId{2}), nullptr);
  EXPECT_EQ(directory.find(kNobody), nullptr);
  EXPECT_EQ(directory.host_of(kNobody), kNoHost);
}

// The order of the numbers does not depend on the order in which hosts are admitted.
RC_GTEST_PROP(DirectoryProperty, OrderIsThatOfTheIds, (std::vector<std::uint64_t> ids)) {
  Directory directory;
  std::size_t admitted = 0;
  for (const std::uint64_t id : ids) admitted += directory.admit(HostId{id}) != nullptr ? 1U : 0U;
  HostId last_id = kNoHost;
  NodeId last_node = kNobody;
  directory.for_each([&](const Directory::Host& host) {
    if (last_id != kNoHost) {
      RC_ASSERT(last_id < host.id);
      RC_ASSERT(last_node < host.node);
    }
    last_id = host.id;
    last_node = host.node;
  });
  RC_CLASSIFY(admitted > 2);
}

}  // namespace
}  // namespace tempo::wire
