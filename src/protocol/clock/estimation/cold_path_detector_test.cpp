#include "protocol/clock/estimation/cold_path_detector.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::clock {
namespace {

// Bursts of round trips with exponential jitter of 10 us, the first longer by `cold` nanoseconds.
// Returns the number of bursts whose first exchange counts.
int first_counts_of(int bursts, double cold, std::uint64_t seed) {
  ColdPathDetector cold_path;
  Stream jitter(seed, 1, 0);
  int counts = 0;
  for (int i = 0; i < bursts; ++i) {
    counts += cold_path.first_counts();
    const auto trip = [&](double more) {
      return Nanos{static_cast<Nanos::rep>(200e3 + more + jitter.exponential(10e3))};
    };
    const Nanos first = trip(cold);
    cold_path.compare(first, trip(0));
  }
  return counts;
}

TEST(ColdPathDetector, EveryExchangeCountsWithoutEvidence) {
  EXPECT_TRUE(ColdPathDetector{}.first_counts());
  ColdPathDetector cold_path;
  for (int i = 0; i < 7; ++i) cold_path.compare(300us, 200us);
  EXPECT_TRUE(cold_path.first_counts());
  cold_path.compare(300us, 200us);
  EXPECT_FALSE(cold_path.first_counts());
}

TEST(ColdPathDetector, IgnoresRandomDifferences) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_GE(first_counts_of(5000, 0, seed), 4900) << seed;
}

TEST(ColdPathDetector, DetectsAColdPath) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_LE(first_counts_of(1000, 10e3, seed), 150) << seed;
}

}  // namespace
}  // namespace tempo::clock
