#include "protocol/clock/estimation/envelope.h"

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

Hull hull(std::initializer_list<Reading> newest_first) {
  Hull hull(newest_first.size());
  for (const Reading& reading : newest_first) hull.push(reading);
  return hull;
}

TEST(Hull, KeepsOnlyTheLowerPoints) {
  const Hull lower = hull({{.t = 3, .value = 1}, {.t = 2, .value = 5}, {.t = 1, .value = 1}});
  ASSERT_EQ(lower.size(), 2U);
  EXPECT_EQ(lower[0].t, 3);
  EXPECT_EQ(lower[1].t, 1);
}

TEST(Hull, KeepsACorner) {
  EXPECT_EQ(hull({{.t = 3, .value = 1}, {.t = 2, .value = 0}, {.t = 1, .value = 1}}).size(), 3U);
}

TEST(Hull, DropsPointsOnALine) {
  EXPECT_EQ(hull({{.t = 3, .value = 3}, {.t = 2, .value = 2}, {.t = 1, .value = 1}}).size(), 2U);
}

TEST(Hull, IgnoresReadingsThatAreNotOlder) {
  const Hull lower = hull({{.t = 3, .value = 1}, {.t = 3.5, .value = 9}, {.t = 1, .value = 1}});
  ASSERT_EQ(lower.size(), 2U);
  EXPECT_EQ(lower[1].t, 1);
}

TEST(Envelope, FindsALineWithoutNoise) {
  const Line theta{.value = 2, .rate = 0.5, .origin = 10};
  Hull out(100);
  Hull back(100);
  for (int t = 10; t >= 0; --t) {
    out.push({.t = t + 0.0, .value = 3 - theta.at(t)});
    back.push({.t = t + 0.1, .value = 3 + theta.at(t + 0.1)});
  }
  const Envelope found = widest(out, back, 10, 0);
  EXPECT_NEAR(found.theta.rate, 0.5, 1e-12);
  EXPECT_NEAR(found.theta.at(10), 2, 1e-12);
  EXPECT_NEAR(found.margin, 3, 1e-12);
}

TEST(Envelope, UsesTheFallbackRateForOneExchange) {
  const Hull out = hull({{.t = 1, .value = 4}});
  const Hull back = hull({{.t = 1.5, .value = 6}});
  const Envelope found = widest(out, back, 1, 0.25);
  EXPECT_EQ(found.theta.rate, 0.25);
  EXPECT_NEAR(found.theta.at(1), (6 - 0.125 - 4) / 2, 1e-12);
}

TEST(Envelope, FindsTheTightReadingsForAGivenRate) {
  const Hull out = hull({{.t = 2, .value = 0}, {.t = 1, .value = 0.9}, {.t = 0, .value = 3}});
  const Hull back = hull({{.t = 2, .value = 3}, {.t = 1, .value = 0.9}, {.t = 0, .value = 0}});
  const Envelope found = widest_at_rate(out, back, 0, 10);
  EXPECT_NEAR(found.theta.at(0), (3 - 20.0 - 3) / 2, 1e-12);
}

}  // namespace
}  // namespace tempo::clock
