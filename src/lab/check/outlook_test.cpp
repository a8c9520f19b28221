// Reachability of good states in hand-made graphs.
#include "lab/check/outlook.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::check {
namespace {

constexpr std::uint32_t kBeyond = 99;  // an edge to a pruned state

struct State {
  bool good;
  std::vector<std::uint32_t> edges;
};

Outlook outlook_of(std::initializer_list<State> states) {
  Outlook outlook;
  for (const State& state : states) {
    outlook.add_state(state.good);
    outlook.expand();
    for (const std::uint32_t to : state.edges)
      to == kBeyond ? outlook.add_edge_beyond() : outlook.add_edge(to);
  }
  return outlook;
}

TEST(Outlook, AcceptsAReachableStableGoodState) {
  EXPECT_EQ(outlook_of({{false, {1}}, {false, {0, 2}}, {true, {2}}}).first_lost(), std::nullopt);
  EXPECT_EQ(outlook_of({{true, {}}}).first_lost(), std::nullopt);
}

// A state that is good only temporarily does not count: 1 always returns to 0.
TEST(Outlook, RejectsACycleThroughAnUnstableGoodState) {
  EXPECT_EQ(outlook_of({{false, {1}}, {true, {0}}}).first_lost(), 0U);
}

TEST(Outlook, CountsPrunedStatesAsGood) {
  EXPECT_EQ(outlook_of({{false, {1}}, {false, {kBeyond}}}).first_lost(), std::nullopt);
  EXPECT_EQ(outlook_of({{true, {kBeyond}}}).first_lost(), std::nullopt);
}

TEST(Outlook, WalksFromALostStateIntoACycle) {
  Outlook outlook = outlook_of({{true, {0, 1}}, {false, {2}}, {false, {3}}, {false, {2}}});
  ASSERT_EQ(outlook.first_lost(), 0U);  // it may leave the good state for the cycle of 2 and 3
  const Outlook::Walk walk = outlook.walk_from(1);
  EXPECT_EQ(walk.states, (std::vector<std::uint32_t>{1, 2, 3, 2}));
  EXPECT_EQ(walk.back, 1U);
}

TEST(Outlook, WalksToADeadEnd) {
  Outlook outlook = outlook_of({{false, {1}}, {false, {}}});
  ASSERT_EQ(outlook.first_lost(), 0U);
  const Outlook::Walk walk = outlook.walk_from(0);
  EXPECT_EQ(walk.states, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(walk.back, 1U);
}

}  // namespace
}  // namespace tempo::check
