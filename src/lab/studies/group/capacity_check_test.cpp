// King, Gendreau, Ni 1988: what each election by capacity promises, in every interleaving of small
// worlds, and the shortest ways in which what is printed, or a condition that fails, breaks it.
#include <string>

#include <gtest/gtest.h>

#include "lab/check/expect.h"
#include "lab/check/explore.h"
#include "lab/studies/group/capacity_model.h"

namespace tempo::check {
namespace {

using Algorithm = CapacityAlgorithm;
using election::capacity::Variant;

// Every search has a bound; none comes near it.
constexpr std::size_t kMemory = std::size_t{1} << 30;

Finding found_in(const CapacityWorld& world) {
  return in_space(world, []<class Model>(Space<Model>& space) {
    return Search<Model>(space, {.memory = kMemory}).run();
  });
}

void expect_sound(const CapacityWorld& world, std::uint64_t at_least) {
  check::expect_sound(found_in(world), at_least);
}
std::string broken_in(const CapacityWorld& world) { return check::broken_in(found_in(world)); }

// --- A, section 4 ---

TEST(CheckA, IsUniqueWithItsConditionsKept) {
  expect_sound({.algorithm = Algorithm::a, .candidates = 1, .delay_max = 2}, 148);
  expect_sound({.algorithm = Algorithm::a, .candidates = 3, .delay_max = 2}, 148);
}
TEST(CheckA, IsNotIfOneBeginsATickLater) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::a, .candidates = 3, .skew = 1}), "unique");
}
TEST(CheckA, IsNotIfNobodyHearsItself) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::a, .self_delivery = false}), "unique");
}
TEST(CheckA, IsNotIfOnePauses) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::a, .budget = {.pauses = 1}}), "unique");
}

// --- B.1, section 5.1 ---

TEST(CheckB1, IsUniqueAndElectsTheBest) {
  expect_sound({.algorithm = Algorithm::b1}, 92);
  expect_sound({.algorithm = Algorithm::b1, .candidates = 3, .delay_max = 2}, 5'583);
}
TEST(CheckB1, BearsACrash) {
  expect_sound({.algorithm = Algorithm::b1, .budget = {.crashes = 1}}, 552);
  expect_sound({.algorithm = Algorithm::b1, .candidates = 3, .budget = {.crashes = 2}}, 5'845);
}
TEST(CheckB1, BearsMoreInLargerWorlds) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  CapacityWorld world{
      .algorithm = Algorithm::b1, .nodes = 4, .candidates = 4, .budget = {.crashes = 2}};
  expect_sound(world, 10'000);
  world.delay_max = 2;
  expect_sound(world, 10'000);
}

// --- B.2, section 5.2 ---

CapacityWorld with_a_liar() {
  return {.algorithm = Algorithm::b2, .nodes = 4, .candidates = 1, .malicious = 1};
}

TEST(CheckB2, ThePrintedChoiceIsNotUnique) {
  CapacityWorld world = with_a_liar();
  world.variant = Variant::as_printed;
  EXPECT_EQ(broken_in(world), "unique");
}
TEST(CheckB2, TheCorrectedChoiceIs) { expect_sound(with_a_liar(), 2'269); }
TEST(CheckB2, ElectsTheBestWhereNobodyLies) {
  expect_sound({.algorithm = Algorithm::b2, .delay_max = 2}, 100);
}
TEST(CheckB2, TheCorrectedChoiceIsWithDelaysOfOneAndTwoTicks) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  CapacityWorld world = with_a_liar();
  world.delay_max = 2;
  expect_sound(world, 365'730);
}
TEST(CheckB2, TheCorrectedChoiceIsWithTwoAndThreeCandidates) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  CapacityWorld world = with_a_liar();
  world.candidates = 2;
  expect_sound(world, 2'269);
  world.candidates = 3;
  expect_sound(world, 2'269);
}

// --- C, section 6 ---

TEST(CheckC, HasOneMasterAndNobodyAsksForHelp) {
  expect_sound({.algorithm = Algorithm::c, .nodes = 2, .delay_max = 2}, 257);
  expect_sound({.algorithm = Algorithm::c, .candidates = 3, .delay_max = 2}, 4'906);
}
TEST(CheckC, AsPrintedSomebodyAsksForHelp) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::c, .nodes = 2, .variant = Variant::as_printed}),
            "no-help");
}
// The probability of two masters is p^3 (2 - p) for two that begin together.
TEST(CheckC, TwoThatBeginTogetherAreTwoMastersAfterThreeLossesAndNoFewer) {
  CapacityWorld world{.algorithm = Algorithm::c, .nodes = 2, .together = true};
  world.budget.losses = 2;
  expect_sound(world, 10);
  world.budget.losses = 3;
  EXPECT_EQ(broken_in(world), "one-master");
}
TEST(CheckC, IsSoundInLargerWorlds) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.algorithm = Algorithm::c, .candidates = 3, .delay_max = 3}, 4'906);
  expect_sound({.algorithm = Algorithm::c, .nodes = 4, .candidates = 3, .delay_max = 2}, 4'906);
}

}  // namespace
}  // namespace tempo::check
