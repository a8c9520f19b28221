#include "lab/sim/shrink.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace tempo::sim {
namespace {

std::vector<int> up_to(int count) {
  std::vector<int> items(static_cast<std::size_t>(count));
  std::ranges::generate(items, [last = 0]() mutable { return ++last; });
  return items;
}

bool holds(const std::vector<int>& items, int wanted) {
  return std::ranges::find(items, wanted) != items.end();
}

TEST(Fewest, FindsTheTwoOfForty) {
  for (const auto& [one, other] : {std::pair{7, 31}, {1, 2}, {1, 40}, {20, 21}, {39, 40}}) {
    int runs = 0;
    const auto needed = fewest(up_to(40), [&](const std::vector<int>& items) {
      ++runs;
      return holds(items, one) && holds(items, other);
    });
    EXPECT_EQ(needed, (std::vector{one, other}));
    EXPECT_LT(runs, 200);
  }
}

TEST(Fewest, KeepsTheOrder) {
  const std::vector<int> items{9, 4, 7, 4, 1, 8};
  const auto needed = fewest(items, [](const std::vector<int>& some) {
    return std::ranges::count(some, 4) == 2 && holds(some, 1) && holds(some, 9);
  });
  EXPECT_EQ(needed, (std::vector{9, 4, 4, 1}));
  const std::vector<int> wanted{1, 5, 6, 10, 15, 20};
  EXPECT_EQ(fewest(up_to(20),
                   [&](const std::vector<int>& some) {
                     return std::ranges::all_of(wanted,
                                                [&](int each) { return holds(some, each); });
                   }),
            wanted);
}

TEST(Fewest, RemovesAllIfNothingIsNeeded) {
  EXPECT_TRUE(fewest(up_to(40), [](const std::vector<int>&) { return true; }).empty());
  EXPECT_TRUE(fewest(std::vector<int>{}, [](const std::vector<int>&) { return true; }).empty());
}

TEST(Fewest, KeepsAllIfAllIsNeeded) {
  EXPECT_EQ(fewest(up_to(10), [](const std::vector<int>& items) { return items.size() == 10; }),
            up_to(10));
  EXPECT_EQ(fewest(up_to(1), [](const std::vector<int>& items) { return items.size() == 1; }),
            up_to(1));
}

// No single item of the result can be removed, for any `fails`.
TEST(Fewest, ReturnsNoUnneededItem) {
  for (const int modulus : {5, 7, 11, 23, 40}) {
    const auto fails = [&](const std::vector<int>& items) {
      return std::accumulate(items.begin(), items.end(), 0) % modulus == 3 || items.size() > 12;
    };
    const auto needed = fewest(up_to(40), fails);
    EXPECT_TRUE(fails(needed)) << modulus;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      auto without = needed;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(fails(without)) << modulus << ", without " << needed[i];
    }
  }
}

TEST(Fewest, StopsWhenTheTriesRunOut) {
  std::size_t runs = 0;
  const auto fails = [&](const std::vector<int>& items) {
    ++runs;
    return holds(items, 7) && holds(items, 31);
  };
  const auto left = fewest(up_to(40), fails, 5);
  EXPECT_EQ(runs, 5U);
  EXPECT_TRUE(holds(left, 7) && holds(left, 31));
  EXPECT_GT(left.size(), 2U);
  EXPECT_EQ(fewest(up_to(40), fails, 0), up_to(40));
}

TEST(Least, FindsTheFirstThatFails) {
  for (const int first : {0, 1, 17, 99, 100})
    EXPECT_EQ(least(0, 100, [&](int number) { return number >= first; }), first);
  EXPECT_EQ(least(5, 5, [](int) { return true; }), 5);
}

TEST(Least, NeedsFewRuns) {
  int runs = 0;
  EXPECT_EQ(least(Nanos{0}, Nanos{1s}, [&](Nanos span) { return ++runs, span >= 123456789ns; }),
            123456789ns);
  EXPECT_LE(runs, 30);  // 10^9 is less than 2^30
}

}  // namespace
}  // namespace tempo::sim
