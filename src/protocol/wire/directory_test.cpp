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

constexpr Instant kNow{1000s};

HostId spread(std::uint64_t i) { return HostId{(i << 46) + 1}; }

Directory::Host* hear(Directory& directory, HostId id, Instant now = kNow) {
  Directory::Host* const host = directory.hear(now, id, Incarnation{1}, Nonce{1});
  if (host != nullptr) host->proved = now;
  return host;
}

TEST(Directory, RefusesHostZero) {
  Directory directory;
  EXPECT_EQ(directory.admit(kNoHost), nullptr);
  EXPECT_EQ(hear(directory, kNoHost), nullptr);
  EXPECT_FALSE(directory.can_hear(kNoHost));
  directory.set_voters(std::vector{kNoHost});
  EXPECT_EQ(directory.size(), 0U);
}

// The directory was full after 4096 ids, and no new host was accepted any more.
TEST(Directory, EvictsTheLongestSilentHostForANewOne) {
  Directory directory;
  for (std::uint64_t i = 0; i < Directory::kMaxHosts; ++i)
    ASSERT_NE(hear(directory, spread(i), kNow + i * 1ms), nullptr) << i;
  EXPECT_EQ(directory.evicted(), 0U);
  const Instant later = kNow + 5s;
  hear(directory, spread(0), later);  // the first one is no longer the longest silent
  const NodeId number = directory.number_of(spread(1));
  ASSERT_NE(hear(directory, spread(Directory::kMaxHosts), later), nullptr);
  EXPECT_EQ(directory.evicted(), Directory::kEvictedAtOnce);
  EXPECT_EQ(directory.last_evicted(), later);
  EXPECT_NE(directory.find(spread(0)), nullptr);
  EXPECT_EQ(directory.find(spread(1)), nullptr);
  EXPECT_EQ(directory.find(number), nullptr);
  EXPECT_EQ(directory.host_of(number), spread(1)) << "the number stays";
  const std::vector<NodeId> evicted = directory.take_evicted();
  EXPECT_EQ(evicted.size(), Directory::kEvictedAtOnce);
  EXPECT_EQ(evicted.front(), number);
  EXPECT_TRUE(directory.take_evicted().empty());
  const Directory::Host* const back = hear(directory, spread(1), later);
  EXPECT_EQ(back->node, number);
  EXPECT_EQ(back->changes, 1U) << "responses to earlier challenges are void";
}

TEST(Directory, KeepsVotersPinnedAndEstablishedHosts) {
  Directory directory;
  hear(directory, spread(1));
  hear(directory, spread(2))->pinned = true;
  hear(directory, spread(3));
  hear(directory, spread(3), kNow + Directory::kEstablishedAfter);
  directory.set_voters(std::vector{spread(1), spread(4)});
  const Instant later = kNow + 1h;
  for (std::uint64_t i = 5; i < 3 * Directory::kMaxHosts; ++i)
    ASSERT_NE(hear(directory, spread(i), later + i * 1us), nullptr) << i;
  EXPECT_LE(directory.size(), Directory::kMaxHosts + 1);
  for (const std::uint64_t i : {1U, 2U, 3U, 4U}) EXPECT_NE(directory.find(spread(i)), nullptr) << i;
  EXPECT_FALSE(directory.find(spread(4))->heard) << "a voter that was never heard has an entry";
  directory.set_voters({});
  for (std::uint64_t i = 0; i < Directory::kMaxHosts; ++i)
    ASSERT_NE(hear(directory, HostId{(i << 46) + 2}, later + 1h), nullptr) << i;
  EXPECT_EQ(directory.find(spread(1)), nullptr);
  EXPECT_NE(directory.find(spread(2)), nullptr);
}

// Ids that were only spoken of had the same places as hosts.
TEST(Directory, HostsThatWereOnlyMentionedTakeNoPlaceOfOthers) {
  Directory directory;
  hear(directory, spread(0));
  for (std::uint64_t i = 1; i <= Directory::kMaxMentionedNumbers; ++i)
    ASSERT_NE(directory.number_of(spread(i)), kNobody) << i;
  EXPECT_EQ(directory.size(), 1 + Directory::kMaxMentioned);
  EXPECT_EQ(directory.evicted(), 0U);
  const HostId late = spread(Directory::kMaxMentionedNumbers + 1);
  EXPECT_EQ(directory.number_of(late), kNobody);
  EXPECT_NE(hear(directory, late), nullptr) << "a host that is heard itself gets in";
  ASSERT_NE(hear(directory, spread(1)), nullptr) << "and leaves the place of the mentioned";
  EXPECT_NE(directory.number_of(spread(Directory::kMaxMentionedNumbers + 2)), kNobody);
}

TEST(Directory, NumbersAreBounded) {
  Directory directory;
  for (std::uint64_t i = 0; i < Directory::kMaxNumbers; ++i)
    ASSERT_NE(hear(directory, HostId{(i << 48) + 1}), nullptr) << i;
  EXPECT_FALSE(directory.can_hear(HostId{2}));
  EXPECT_EQ(hear(directory, HostId{2}), nullptr);
  EXPECT_TRUE(directory.can_hear(HostId{1}));
  EXPECT_NE(hear(directory, HostId{1}), nullptr) << "known hosts return";
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
