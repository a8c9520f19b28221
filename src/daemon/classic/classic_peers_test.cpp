// Numbers of the hosts of a network in classic mode.
#include "daemon/classic/classic_peers.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

sys::Address address(int number) {
  return *sys::Address::parse(fmt::format("192.0.{}.{}", number / 250, 1 + number % 250), 525);
}

TEST(ClassicPeers, AreNumberedInTheOrderOfTheirNames) {
  ClassicPeers peers("m");
  const NodeId d = *peers.heard(address(0), "d");
  const NodeId t = *peers.heard(address(1), "t");
  const NodeId a = *peers.heard(address(2), "a");
  const NodeId f = *peers.heard(address(3), "f");
  EXPECT_LT(a, d);
  EXPECT_LT(d, f);
  EXPECT_LT(f, ClassicPeers::kOwn);
  EXPECT_LT(ClassicPeers::kOwn, t);
}

TEST(ClassicPeers, KeepTheirNumber) {
  ClassicPeers peers("m");
  const NodeId d = *peers.heard(address(0), "d");
  EXPECT_EQ(peers.heard(address(0).with_port(4000), "zz"), d) << "a name that changes";
  EXPECT_EQ(peers.known(address(0)), d);
  EXPECT_EQ(peers.known(address(1)), std::nullopt);
  EXPECT_EQ(*peers.address_of(d), "192.0.0.1");
  EXPECT_EQ(peers.address_of(ClassicPeers::kOwn), nullptr);
}

// Hosts that are heard in the order of their names, the usual case, keep that order.
TEST(ClassicPeers, KeepTheOrderOfManyThatAreHeardInTurn) {
  ClassicPeers peers("h");
  NodeId last = ClassicPeers::kOwn;
  for (int i = 0; i < 60; ++i) {
    const NodeId id = *peers.heard(address(i), fmt::format("h{:03}", i));
    EXPECT_LT(last, id) << i;
    last = id;
  }
}

TEST(ClassicPeers, AreBoundedAndStayOnTheirSide) {
  ClassicPeers peers("m");
  std::size_t taken = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool lower = i % 2 == 0;
    const auto id = peers.heard(address(i), fmt::format("{}{:04}", lower ? 'a' : 'z', 2000 - i));
    if (!id) continue;
    ++taken;
    EXPECT_EQ(*id < ClassicPeers::kOwn, lower) << i;
    EXPECT_NE(*id, ClassicPeers::kOwn);
    EXPECT_LE(std::to_underlying(*id), ClassicPeers::kLast);
  }
  EXPECT_EQ(taken, ClassicPeers::kMax);
  EXPECT_EQ(peers.size(), ClassicPeers::kMax);
}

}  // namespace
}  // namespace tempo::daemon
