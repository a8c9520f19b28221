// The exact rounds of algorithm C against a derivation by hand and against simulated elections.
#include "lab/papers/machine_rounds.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "lab/studies/group/capacity_run.h"

namespace tempo::papers {
namespace {

using analysis::Fraction;

TEST(MachineRounds, OfOneCandidateAreTwo) {
  EXPECT_EQ(machine_rounds(1, Fraction(3, 10)), Fraction{2});
}

// By hand, with q = 1 - p: the lesser candidate hears the greater one's bid with probability q;
// then one announcement follows. Otherwise both announce themselves. Both hear the other (q^2) or
// one hears it and the other hears of it by dup (2 p q q): the greater one announces itself again.
// One hears it and the dup is lost (2 p q p): only the greater one would announce itself again, and
// half of the time it is the one that heard. Neither hears (p^2): both are masters.
Fraction by_hand(const Fraction& p) {
  const Fraction q = Fraction{1} - p;
  const Fraction both =
      p * p + Fraction{2} * q * q + Fraction{4} * p * q * q + Fraction{3} * p * p * q;
  return Fraction{1} + q + p * both;
}

TEST(MachineRounds, OfTwoCandidatesAreAsDerivedByHand) {
  for (const int tenths : {0, 1, 3, 5, 9})
    EXPECT_EQ(machine_rounds(2, Fraction(tenths, 10)), by_hand(Fraction(tenths, 10))) << tenths;
  EXPECT_EQ(std::round(machine_rounds(2, Fraction(3, 10)).nearest() * 1e4), 22541);
}

TEST(MachineRounds, WithoutLossAreTwo) { EXPECT_EQ(machine_rounds(3, Fraction{0}), Fraction{2}); }

// The delays of the simulation are drawn, which changes the mean of three candidates a little: a
// dup that arrives before the announcement that it reports makes another dup unnecessary.
TEST(MachineRounds, OfThreeCandidatesAreThoseOfTheSimulation) {
  using namespace sim::capacity;
  constexpr int kRuns = 20'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Outcome one = run({.algorithm = Algorithm::c,
                             .nodes = 3,
                             .candidates = 3,
                             .variant = election::capacity::Variant::as_printed,
                             .criterion = Criterion::id,
                             .loss = 0.3,
                             .seed = static_cast<std::uint64_t>(i) + 1});
    sum += one.rounds;
    squares += one.rounds * one.rounds;
  }
  const double mean = sum / kRuns;
  const double error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
  EXPECT_NEAR(mean, machine_rounds(3, Fraction(3, 10)).nearest(), 4 * error + 0.02);
}

}  // namespace
}  // namespace tempo::papers
