#include "protocol/clock/estimation/candidate_fits.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

constexpr Line kFast{.value = 1e-3, .rate = 30e-6, .origin = 0};

TEST(CandidateFits, FindsALineWithoutNoiseInEveryWindow) {
  Slots slots;
  CandidateFits fits;
  SlotMaker maker(kFast, 0);
  for (int i = 0; i < 200; ++i) {
    maker.add(slots);
    fits.fit(slots, true);
  }
  for (const Kind kind : kKinds)
    for (std::size_t k = 0; k < kWindows.size(); ++k) {
      const Candidate& candidate = fits.candidates()[kind][k];
      EXPECT_EQ(candidate.present, kWindows[k] <= 200) << k;
      if (!candidate.present) continue;
      EXPECT_NEAR(candidate.theta.rate, kFast.rate, 1e-12) << k;
      EXPECT_NEAR(candidate.theta.at(300), kFast.at(300), 1e-9) << k;
    }
  EXPECT_NEAR(fits.candidates()[Kind::envelope][0].margin, SlotMaker::kFloor, 1e-9);
}

TEST(CandidateFits, AWindowIgnoresOlderSlots) {
  Slots slots;
  CandidateFits fits;
  SlotMaker before(kFast, 0);
  before.add(slots, 20);
  // Another clock from second 20 on: windows of 8 and 11 contain only it.
  const Line after{.value = 5e-3, .rate = -10e-6, .origin = 0};
  for (int t = 20; t < 31; ++t) {
    const Sample sample = made(t + 0.5, after, 1e-4, 1e-4);
    slots.add(sample, sample, 0);
    fits.fit(slots, true);
  }
  for (const Kind kind : kKinds) {
    EXPECT_NEAR(fits.candidates()[kind][0].theta.rate, after.rate, 1e-12);
    EXPECT_NEAR(fits.candidates()[kind][1].theta.rate, after.rate, 1e-12);
    EXPECT_GT(std::abs(fits.candidates()[kind][2].theta.rate - after.rate), 1e-6);
  }
}

TEST(CandidateFits, LeastSquaresIgnoresOutliers) {
  Slots slots;
  CandidateFits fits;
  SlotMaker maker({}, 0);
  maker.add(slots, 64);
  maker.extra_out = 1e-3;
  maker.add(slots);
  fits.fit(slots, true);
  EXPECT_NEAR(fits.candidates()[Kind::least_squares][0].theta.value, 0, 1e-9);
}

TEST(CandidateFits, StoresPastValues) {
  Slots slots;
  CandidateFits fits;
  SlotMaker maker(kFast, 0);
  for (int i = 0; i < 20; ++i) {
    maker.add(slots);
    fits.fit(slots, true);
  }
  ASSERT_TRUE(fits.past_value(Kind::envelope, 0, 5));
  EXPECT_NEAR(*fits.past_value(Kind::envelope, 0, 5), kFast.at(slots.back(5).time), 1e-9);
  EXPECT_FALSE(fits.past_value(Kind::envelope, 0, 15));  // the window was not full
  EXPECT_FALSE(fits.past_value(Kind::envelope, 0, 99));

  const double before = *fits.past_value(Kind::least_squares, 0, 5);
  fits.shift(1e-3, 6);
  EXPECT_NEAR(*fits.past_value(Kind::least_squares, 0, 5), before + 1e-3, 1e-12);
  EXPECT_NEAR(*fits.past_value(Kind::least_squares, 0, 6), kFast.at(slots.back(6).time), 1e-9);
  fits.forget(6);
  EXPECT_FALSE(fits.past_value(Kind::least_squares, 0, 5));
  EXPECT_TRUE(fits.past_value(Kind::least_squares, 0, 6));
}

TEST(CandidateFits, UpdatesTheValueOfAnOpenSlot) {
  Slots slots;
  CandidateFits fits;
  SlotMaker maker({}, 1e-4);
  for (int i = 0; i < 8; ++i) {
    maker.add(slots);
    fits.fit(slots, true);
  }
  const Sample better = made(7.9, {}, 1e-4, 1e-4);
  slots.add(better, better, 0);
  fits.fit(slots, false);
  EXPECT_EQ(*fits.past_value(Kind::envelope, 0, 0),
            fits.candidates()[Kind::envelope][0].theta.value);
  EXPECT_FALSE(fits.past_value(Kind::envelope, 0, 1));
}

TEST(FirstEnvelope, LimitsTheRate) {
  Slots slots;
  const Sample first = made(0.5, {}, 1e-4, 1e-4);
  slots.add(first, first, 0);
  EXPECT_EQ(first_envelope(slots, 7e-6).theta.rate, 7e-6);
  const Sample second = made(1.5, {}, 5e-3, 1e-4);
  const Sample third = made(2.5, {}, 9e-3, 1e-4);
  slots.add(second, second, 0);
  slots.add(third, third, 0);
  EXPECT_LE(std::abs(first_envelope(slots, 7e-6).theta.rate), 200e-6);
}

}  // namespace
}  // namespace tempo::clock
