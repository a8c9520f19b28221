// King, Gendreau, Ni 1988: exhaustive checks of the elections by capacity with a few processes, and
// shortest counterexamples for the printed versions and for violated conditions.
#include <string>

#include <gtest/gtest.h>

#include "lab/check/expect.h"
#include "lab/check/explore.h"
#include "lab/studies/group/capacity_model.h"

namespace tempo::check {
namespace {

using Algorithm = CapacityAlgorithm;
using election::capacity::Variant;

// Memory limit of every search, in bytes; no search comes near it.
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

TEST(CheckA, UniqueUnderItsConditions) {
  expect_sound({.algorithm = Algorithm::a, .candidates = 1, .delay_max = 2}, 148);
  expect_sound({.algorithm = Algorithm::a, .candidates = 3, .delay_max = 2}, 148);
}
TEST(CheckA, NotUniqueIfOneBeginsATickLater) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::a, .candidates = 3, .skew = 1}), "unique");
}
TEST(CheckA, NotUniqueWithoutSelfDelivery) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::a, .self_delivery = false}), "unique");
}
TEST(CheckA, NotUniqueIfOnePauses) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::a, .budget = {.pauses = 1}}), "unique");
}

// --- B.1, section 5.1 ---

TEST(CheckB1, UniqueAndElectsTheBest) {
  expect_sound({.algorithm = Algorithm::b1}, 92);
  expect_sound({.algorithm = Algorithm::b1, .candidates = 3, .delay_max = 2}, 5'583);
}
TEST(CheckB1, ToleratesACrash) {
  expect_sound({.algorithm = Algorithm::b1, .budget = {.crashes = 1}}, 552);
  expect_sound({.algorithm = Algorithm::b1, .candidates = 3, .budget = {.crashes = 2}}, 5'845);
}
TEST(CheckB1, ToleratesMoreInLargerWorlds) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  CapacityWorld world{
      .algorithm = Algorithm::b1, .nodes = 4, .candidates = 4, .budget = {.crashes = 2}};
  expect_sound(world, 10'000);
  world.delay_max = 2;
  expect_sound(world, 10'000);
}

// --- B.2, section 5.2 ---

CapacityWorld with_byzantine_member() {
  return {.algorithm = Algorithm::b2, .nodes = 4, .candidates = 1, .malicious = 1};
}

TEST(CheckB2, PrintedChoiceIsNotUnique) {
  CapacityWorld world = with_byzantine_member();
  world.variant = Variant::as_printed;
  EXPECT_EQ(broken_in(world), "unique");
}
TEST(CheckB2, CorrectedChoiceIsUnique) { expect_sound(with_byzantine_member(), 2'269); }
TEST(CheckB2, ElectsTheBestWithoutLiars) {
  expect_sound({.algorithm = Algorithm::b2, .delay_max = 2}, 100);
}
TEST(CheckB2, CorrectedChoiceIsUniqueWithDelaysOfOneAndTwoTicks) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  CapacityWorld world = with_byzantine_member();
  world.delay_max = 2;
  expect_sound(world, 365'730);
}
TEST(CheckB2, CorrectedChoiceIsUniqueWithTwoAndThreeCandidates) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  CapacityWorld world = with_byzantine_member();
  world.candidates = 2;
  expect_sound(world, 2'269);
  world.candidates = 3;
  expect_sound(world, 2'269);
}

// --- C, section 6 ---

TEST(CheckC, OneMasterAndNoRequestForHelp) {
  expect_sound({.algorithm = Algorithm::c, .nodes = 2, .delay_max = 2}, 257);
  expect_sound({.algorithm = Algorithm::c, .candidates = 3, .delay_max = 2}, 4'906);
}
TEST(CheckC, PrintedVersionAsksForHelp) {
  EXPECT_EQ(broken_in({.algorithm = Algorithm::c, .nodes = 2, .variant = Variant::as_printed}),
            "no-help");
}
// With two candidates that begin together the probability of two masters is p^3 (2 - p).
TEST(CheckC, TwoMastersNeedThreeLosses) {
  CapacityWorld world{.algorithm = Algorithm::c, .nodes = 2, .together = true};
  world.budget.losses = 2;
  expect_sound(world, 10);
  world.budget.losses = 3;
  EXPECT_EQ(broken_in(world), "one-master");
}
TEST(CheckC, SoundInLargerWorlds) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.algorithm = Algorithm::c, .candidates = 3, .delay_max = 3}, 4'906);
  expect_sound({.algorithm = Algorithm::c, .nodes = 4, .candidates = 3, .delay_max = 2}, 4'906);
}

}  // namespace
}  // namespace tempo::check
