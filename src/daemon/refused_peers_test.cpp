#include "daemon/refused_peers.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using wire::DropReason;

sys::Address address(const std::string& text) { return *sys::Address::parse(text, 525); }

TEST(RefusedPeers, AreKeptByAddressAndReason) {
  RefusedPeers peers;
  const Instant start{1000s};
  peers.refuse(start, address("192.0.2.7"), DropReason::not_sealed);
  peers.refuse(start + 1s, address("192.0.2.7"), DropReason::not_sealed);
  peers.refuse(start + 1s, address("192.0.2.8"), DropReason::other_cluster);
  // Noise and our own datagrams are no operator's mistake.
  peers.refuse(start + 1s, address("192.0.2.9"), DropReason::malformed);
  peers.refuse(start + 1s, address("192.0.2.9"), DropReason::own);
  const auto entries = peers.entries(start + 2s);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].address.text(), "192.0.2.7");
  EXPECT_EQ(entries[0].count, 2U);
  EXPECT_EQ(entries[1].reason, DropReason::other_cluster);
  EXPECT_TRUE(peers.entries(start + 40s).empty()) << "the mistake was corrected";
}

// First contact refuses datagrams too, until the machine has answered.
TEST(RefusedPeers, AMachineThatAnswersIsNotMute) {
  RefusedPeers peers;
  const Instant start{1000s};
  peers.refuse(start, address("192.0.2.7"), DropReason::not_live);
  EXPECT_TRUE(peers.entries(start + 1s).empty());
  peers.accept(address("192.0.2.7:1234"));
  peers.refuse(start + 6s, address("192.0.2.7"), DropReason::not_live);
  EXPECT_TRUE(peers.entries(start + 6s).empty());
  peers.refuse(start + 12s, address("192.0.2.7"), DropReason::not_live);
  ASSERT_EQ(peers.entries(start + 12s).size(), 1U);
  peers.accept(address("192.0.2.7"));
  EXPECT_TRUE(peers.entries(start + 12s).empty());
}

TEST(RefusedPeers, AFloodOfAddressesStaysBounded) {
  RefusedPeers peers;
  const Instant start{1000s};
  for (int i = 0; i < 200; ++i)
    peers.refuse(start, address(fmt::format("192.0.2.{}", i)), DropReason::forged);
  EXPECT_EQ(peers.entries(start).size(), RefusedPeers::kMaxEntries);
  peers.refuse(start + 31s, address("198.51.100.1"), DropReason::forged);
  EXPECT_EQ(peers.entries(start + 31s).size(), 1U);
}

}  // namespace
}  // namespace tempo::daemon
