#include "protocol/clock/estimation/scores.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

// Slots with their fits and scores.
struct ScoredSlots {
  Slots slots;
  CandidateFits fits;
  Scores scores;

  void add(const Sample& sample) {
    slots.add(sample, sample, 0);
    fits.fit(slots, true);
    scores.judge(slots, fits);
  }
};

std::size_t best(const Scores& scores, Kind kind) {
  std::size_t best = 0;
  for (std::size_t k = 0; k < kWindows.size(); ++k)
    if (scores.scored(kind, k) && scores.error(kind, k) < scores.error(kind, best)) best = k;
  return kWindows[best];
}

TEST(Scores, ScoresAWindowAfterHalfItsLength) {
  ScoredSlots scored;
  SlotMaker maker({}, 1e-5);
  // A window of 8 must be full, and 8 slots must follow; then it needs slightly more than 4 tests,
  // because they decay.
  for (int i = 0; i < 8 + 7 + 4; ++i) scored.add(maker.next());
  EXPECT_FALSE(scored.scores.scored(Kind::envelope, 0));
  scored.add(maker.next());
  EXPECT_TRUE(scored.scores.scored(Kind::envelope, 0));
  EXPECT_FALSE(scored.scores.scored(Kind::envelope, 1));
}

TEST(Scores, PrefersLongWindowsForNoise) {
  ScoredSlots scored;
  SlotMaker maker({}, 1e-4);
  for (int i = 0; i < 1500; ++i) scored.add(maker.next());
  EXPECT_GE(best(scored.scores, Kind::envelope), 256U);
  EXPECT_GE(kWindows[scored.scores.reference(Kind::envelope)], 128U);
  // The error of a short window is known within a factor of two: 8 slots, 100 us in each direction.
  const double error = std::sqrt(scored.scores.error(Kind::envelope, 0));
  EXPECT_GT(error, 15e-6);
  EXPECT_LT(error, 60e-6);
}

TEST(Scores, PrefersShortWindowsForWander) {
  ScoredSlots scored;
  Stream stream(3, 0, 0);
  Line theta{};
  for (int i = 0; i < 1500; ++i) {
    theta = {
        .value = theta.at(i + 0.5), .rate = theta.rate + stream.normal(0, 1e-7), .origin = i + 0.5};
    scored.add(made(i + 0.5, theta, 1e-4 + stream.exponential(1e-7), 1e-4));
  }
  EXPECT_LE(best(scored.scores, Kind::envelope), 16U);
  EXPECT_LE(best(scored.scores, Kind::least_squares), 16U);
}

TEST(Scores, MeasuresTheNoiseOfItsTests) {
  ScoredSlots scored;
  SlotMaker maker({}, 1e-5);
  for (int i = 0; i < 400; ++i) scored.add(maker.next());
  const double before = std::sqrt(scored.scores.tested_noise(Kind::envelope));
  EXPECT_NEAR(before, 1.5e-5, 0.7e-5);
  Stream stream(9, 0, 0);
  const auto add_noisy = [&scored, &stream](int from, int to) {
    for (int i = from; i < to; ++i)
      scored.add(
          made(i + 0.5, {}, 1e-4 + stream.exponential(1e-3), 1e-4 + stream.exponential(1e-3)));
  };
  add_noisy(400, 420);
  EXPECT_LT(std::sqrt(scored.scores.tested_noise(Kind::envelope)), 2 * before);
  add_noisy(420, 1600);
  EXPECT_GT(std::sqrt(scored.scores.tested_noise(Kind::envelope)), 10 * before);
}

}  // namespace
}  // namespace tempo::clock
