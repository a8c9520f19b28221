#include "platform/clocks/oscillator.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tempo::sys {
namespace {

const Instant kStart{1000s};

Nanos gained(Drift& drift, Nanos after) { return drift.at(kStart + after) - (kStart + after); }

TEST(Drift, GainsByItsRate) {
  Drift fast{kStart, {.rate = 50e-6}};
  EXPECT_EQ(gained(fast, 0s), Nanos{0});
  EXPECT_EQ(gained(fast, 1s), Nanos{50us});
  EXPECT_EQ(gained(fast, 1h), Nanos{180ms});
  Drift slow{kStart, {.rate = -20e-6}};
  EXPECT_EQ(gained(slow, 100s), Nanos{-2ms});
}

TEST(Drift, DoesNotDependOnEarlierCalls) {
  const DriftOptions options{.rate = 10e-6, .wander = 1e-7, .seed = 7};
  Drift often{kStart, options};
  for (Nanos after{0}; after < 20s; after += 1ms) often.at(kStart + after);
  Drift once{kStart, options};
  EXPECT_EQ(often.at(kStart + 20s), once.at(kStart + 20s));
  Drift other{kStart, {.rate = 10e-6, .wander = 1e-7, .seed = 8}};
  EXPECT_NE(often.at(kStart + 20s), other.at(kStart + 20s));
}

TEST(Drift, GivesTheSameAnswerForThePast) {
  Drift drift{kStart, {.rate = 10e-6, .wander = 1e-6, .seed = 7}};
  drift.at(kStart + 9s);
  const Instant then = drift.at(kStart + 10s);
  drift.at(kStart + 11500ms);
  EXPECT_EQ(drift.at(kStart + 10s), then);
}

TEST(Drift, NeverGoesBackwards) {
  Drift drift{kStart, {.rate = -400e-6, .wander = 1e-4, .seed = 3}};
  Instant last = drift.at(kStart);
  for (Nanos after{0}; after < 10s; after += 99'991ns) {
    const Instant now = drift.at(kStart + after);
    ASSERT_GE(now, last);
    last = now;
  }
}

// A walk of 1e-6 per square root of a second is about 1e-5 away after a hundred seconds.
TEST(Drift, WandersAsConfigured) {
  double squares = 0;
  constexpr int kClocks = 400;
  for (int seed = 0; seed < kClocks; ++seed) {
    Drift drift{kStart, {.wander = 1e-6, .seed = static_cast<std::uint64_t>(seed)}};
    const Nanos before = gained(drift, 100s);
    const Nanos after = gained(drift, 100s + 100ms);
    squares += std::pow(static_cast<double>((after - before).count()) / 1e8, 2);
  }
  EXPECT_NEAR(std::sqrt(squares / kClocks), 1e-5, 1.5e-6);
}

TEST(Drift, SurvivesALongGap) {
  Drift drift{kStart, {.rate = 10e-6, .wander = 1e-12, .seed = 7}};
  const Nanos day = gained(drift, 24h);
  EXPECT_NEAR(static_cast<double>(day.count()), 864e6, 1e6);
  EXPECT_GE(drift.at(kStart + 24h + 1ns), drift.at(kStart + 24h));
}

TEST(Oscillator, RealOneIsTheRawClock) {
  const auto oscillator = real_oscillator();
  const Instant before = raw_now();
  const Instant now = oscillator->now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, raw_now());
  EXPECT_EQ(oscillator->at(before), before);
}

TEST(Oscillator, ConvertsAKernelStamp) {
  const auto oscillator = real_oscillator();
  // An interrupted reading gives no result; among many readings one does.
  bool seen = false;
  for (int attempt = 0; attempt < 1000 && !seen; ++attempt) {
    const Instant before = oscillator->now();
    timespec stamp{};
    clock_gettime(CLOCK_REALTIME, &stamp);
    const Instant after = oscillator->now();
    const auto at = oscillator->from_realtime(stamp);
    seen = at && *at > before - 10us && *at < after + 10us;
  }
  EXPECT_TRUE(seen);
  EXPECT_FALSE(oscillator->from_realtime(timespec{.tv_sec = 0, .tv_nsec = 0}));
}

TEST(Oscillator, DriftingOneConvertsStampsToItsTimescale) {
  const auto oscillator = drifting_oscillator({.rate = 0.25});
  const Instant raw = raw_now();
  EXPECT_EQ(oscillator->at(raw + 800ms) - oscillator->at(raw), Nanos{1s});
}

}  // namespace
}  // namespace tempo::sys
