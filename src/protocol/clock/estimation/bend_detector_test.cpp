#include "protocol/clock/estimation/bend_detector.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/studies/sync/made.h"
#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/slots.h"

namespace tempo::clock {
namespace {

using testing::made;

constexpr double kFloor = 100e-6;

// A clock with exponential jitter of 10 us; theta and the floor of the delays may change.
class Clock {
 public:
  void run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      theta_ += rate;
      const Line line{.value = theta_, .rate = rate, .origin = t_};
      const double out = floor + jitter_.exponential(10e-6);
      const double back = floor + jitter_.exponential(10e-6);
      const Sample sample = made(t_, line, out, back);
      t_ += 1;
      slots_.add(sample, sample, 0);
      fits_.fit(slots_, true);
      bends.judge(fits_, true);
    }
  }

  double rate = 0;
  double floor = kFloor;
  BendDetector bends;

 private:
  double t_ = 0.5;
  double theta_ = 0;
  Stream jitter_{1, 0, 0};
  Slots slots_;
  CandidateFits fits_;
};

TEST(BendDetector, FindsNoBendInASteadyClock) {
  Clock clock;
  for (int i = 0; i < 2000; ++i) {
    clock.run(1);
    EXPECT_EQ(clock.bends.first_bent(), kWindows.size()) << i;
  }
}

// A bend makes a window of n bad from some seconds after it until it has left the window.
TEST(BendDetector, RejectsTheWindowsOverABend) {
  Clock clock;
  clock.run(1200);
  clock.rate = 5e-6;
  clock.run(20);
  const std::size_t early = clock.bends.first_bent();
  EXPECT_LE(kWindows[early], 64U);
  clock.run(80);
  const std::size_t late = clock.bends.first_bent();
  EXPECT_GE(kWindows[late], 100U) << "shorter windows lie after the bend";
  EXPECT_LT(late, kWindows.size());
  clock.run(1024);
  EXPECT_EQ(clock.bends.first_bent(), kWindows.size());
}

// A single slot may be wrong, and a liar must not be followed before its members object.
TEST(BendDetector, WantsSeveralSlots) {
  Clock clock;
  clock.run(1200);
  clock.rate = 100e-6;
  clock.run(2);
  EXPECT_EQ(clock.bends.first_bent(), kWindows.size());
  clock.run(2);
  EXPECT_LT(clock.bends.first_bent(), kWindows.size());
}

TEST(BendDetector, GetsUsedToSmallerMargins) {
  Clock clock;
  clock.run(1200);
  clock.floor = kFloor / 2;
  clock.run(10);
  EXPECT_LT(clock.bends.first_bent(), kWindows.size());
  clock.run(10000);
  EXPECT_EQ(clock.bends.first_bent(), kWindows.size());
}

TEST(BendDetector, StartsAgainAfterAChangeOfThePath) {
  Clock clock;
  clock.run(1200);
  clock.bends.forget();
  clock.rate = 5e-6;
  clock.run(5);
  EXPECT_EQ(clock.bends.first_bent(), kWindows.size());
}

}  // namespace
}  // namespace tempo::clock
