// From which states it can still come good, by hand.
#include "lab/check/outlook.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::check {
namespace {

constexpr std::uint32_t kBeyond = 99;  // stands for a way to what is not looked at

struct State {
  bool good;
  std::vector<std::uint32_t> ways;
};

Outlook outlook_of(std::initializer_list<State> states) {
  Outlook outlook;
  for (const State& state : states) {
    outlook.add_state(state.good);
    outlook.expand();
    for (const std::uint32_t to : state.ways)
      to == kBeyond ? outlook.add_way_beyond() : outlook.add_way(to);
  }
  return outlook;
}

TEST(Outlook, IsGoodWhereAStableGoodStateCanBeReached) {
  EXPECT_EQ(outlook_of({{false, {1}}, {false, {0, 2}}, {true, {2}}}).first_lost(), std::nullopt);
  EXPECT_EQ(outlook_of({{true, {}}}).first_lost(), std::nullopt);
}

// Good for a moment is not good: from 1 it always goes back to 0.
TEST(Outlook, IsLostInACircleThatIsGoodNowAndThen) {
  EXPECT_EQ(outlook_of({{false, {1}}, {true, {0}}}).first_lost(), 0U);
}

TEST(Outlook, CountsWhatIsNotLookedAtAsGood) {
  EXPECT_EQ(outlook_of({{false, {1}}, {false, {kBeyond}}}).first_lost(), std::nullopt);
  EXPECT_EQ(outlook_of({{true, {kBeyond}}}).first_lost(), std::nullopt);
}

TEST(Outlook, WalksFromALostStateUntilItIsBack) {
  Outlook outlook = outlook_of({{true, {0, 1}}, {false, {2}}, {false, {3}}, {false, {2}}});
  ASSERT_EQ(outlook.first_lost(), 0U);  // it may leave good for the circle of 2 and 3
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
