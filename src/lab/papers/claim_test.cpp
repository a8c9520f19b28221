#include "lab/papers/claim.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::papers {
namespace {

using ::testing::HasSubstr;

const Statement kStatement{Paper::ring, "4", "a statement"};

Extremes extremes(double least, double most) { return {.runs = 10, .least = least, .most = most}; }

TEST(Claim, AgreesIfTheIntervalContainsThePrediction) {
  const Estimate measured{.value = 0.5, .low = 0.4, .high = 0.6, .runs = 100};
  EXPECT_EQ(equals(kStatement, 0.45, measured).verdict, Verdict::agrees);
  EXPECT_EQ(equals(kStatement, 0.39, measured).verdict, Verdict::disagrees);
  EXPECT_EQ(equals(kStatement, 0.61, measured).verdict, Verdict::disagrees);
  const Claim named = equals(kStatement, 0.375, "3/8", measured);
  EXPECT_EQ(named.prediction, "3/8");
  EXPECT_EQ(named.verdict, Verdict::disagrees);
}

TEST(Claim, BoundAgreesOnlyIfTheWholeIntervalSatisfiesIt) {
  const Estimate measured{.value = 2, .low = 1.5, .high = 2.5, .runs = 100};
  EXPECT_EQ(at_most(kStatement, 2.5, measured).verdict, Verdict::agrees);
  EXPECT_EQ(at_most(kStatement, 2.2, measured).verdict, Verdict::undecided);
  EXPECT_EQ(at_most(kStatement, 1.4, measured).verdict, Verdict::disagrees);
}

TEST(Claim, WithoutRunsNothingIsDecided) {
  const Estimate none{.value = 0, .low = 0, .high = 0, .runs = 0};
  EXPECT_EQ(equals(kStatement, 0, none).verdict, Verdict::undecided);
  EXPECT_EQ(at_most(kStatement, 1, none).verdict, Verdict::undecided);
  EXPECT_EQ(always(kStatement, 0, Extremes{}).verdict, Verdict::undecided);
  EXPECT_EQ(never_above(kStatement, 1, Extremes{}).verdict, Verdict::undecided);
  EXPECT_EQ(never(kStatement, 0, 0).verdict, Verdict::undecided);
  EXPECT_EQ(happens(kStatement, 0, 0).verdict, Verdict::undecided);
  EXPECT_EQ(distributed(kStatement, {.chi_square = 0, .freedom = 3, .limit = 20}, 0).verdict,
            Verdict::undecided);
}

TEST(Claim, AlwaysMeansEveryRun) {
  EXPECT_EQ(always(kStatement, 11, extremes(11, 11)).verdict, Verdict::agrees);
  EXPECT_EQ(always(kStatement, 11, extremes(10, 11)).verdict, Verdict::disagrees);
  EXPECT_EQ(always(kStatement, 11, extremes(12, 12)).verdict, Verdict::disagrees);
  EXPECT_EQ(never_above(kStatement, 20, extremes(1, 20)).verdict, Verdict::agrees);
  EXPECT_EQ(never_above(kStatement, 20, extremes(1, 20.1)).verdict, Verdict::disagrees);
}

TEST(Claim, NeverAndHappensDependOnTheCount) {
  EXPECT_EQ(never(kStatement, 0, 500).verdict, Verdict::agrees);
  EXPECT_EQ(never(kStatement, 1, 500).verdict, Verdict::disagrees);
  EXPECT_EQ(happens(kStatement, 1, 500).verdict, Verdict::agrees);
  EXPECT_EQ(happens(kStatement, 0, 500).verdict, Verdict::undecided);
  EXPECT_EQ(never(kStatement, 0, 12'345).measurement, "0 of 12,345");
}

TEST(Claim, DistributionIsJudgedByItsDistance) {
  EXPECT_EQ(distributed(kStatement, {.chi_square = 19, .freedom = 3, .limit = 20}, 9).verdict,
            Verdict::agrees);
  EXPECT_EQ(distributed(kStatement, {.chi_square = 21, .freedom = 3, .limit = 20}, 9).verdict,
            Verdict::disagrees);
}

TEST(Claim, ExactValuesAreEqualOrNot) {
  EXPECT_EQ(same(kStatement, "3/8", "3/8").verdict, Verdict::agrees);
  EXPECT_EQ(same(kStatement, "3/8", "1/4").verdict, Verdict::disagrees);
}

TEST(Claim, SearchMustBeComplete) {
  EXPECT_EQ(holds_everywhere(kStatement, true, false, 9).verdict, Verdict::agrees);
  EXPECT_EQ(holds_everywhere(kStatement, false, false, 9).verdict, Verdict::undecided);
  EXPECT_EQ(holds_everywhere(kStatement, false, true, 9).verdict, Verdict::disagrees);
}

// A known error is an erratum only if this run refutes it.
TEST(Claim, ErratumMustBeFound) {
  EXPECT_EQ(
      erratum(kStatement, {.printed = "1", .seen = "2", .repair = "r", .found = true}).verdict,
      Verdict::erratum);
  EXPECT_EQ(
      erratum(kStatement, {.printed = "1", .seen = "1", .repair = "r", .found = false}).verdict,
      Verdict::undecided);
}

TEST(Claim, IsALineOfCommaSeparatedValues) {
  Claim claim = equals({Paper::capacity, "6, figure 1", "E[N], as \"printed\""}, 2.5,
                       {.value = 2.25, .low = 2, .high = 3, .runs = 7});
  EXPECT_EQ(
      claims_csv({claim}),
      "paper,section,claim,prediction,measurement,predicted,measured,low,high,runs,verdict\n"
      "capacity,\"6, figure 1\",\"E[N], as \"\"printed\"\"\",2.5,2.25,2.5,2.25,2,3,7,agrees\n");
}

}  // namespace
}  // namespace tempo::papers
