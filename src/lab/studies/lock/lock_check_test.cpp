// Exhaustive checks of bounded-delay locks with a few sites, and shortest counterexamples for the
// printed versions and for silent time-outs.
#include <string>

#include <gtest/gtest.h>

#include "lab/check/expect.h"
#include "lab/check/explore.h"
#include "lab/studies/lock/lock_model.h"

namespace tempo::check {
namespace {

using lock::mutex::Variant;

constexpr std::size_t kMemory = std::size_t{1} << 30;

Finding found_in(const LockWorld& world) {
  const LockModel model{.rules = rules_of(world)};
  Space<LockModel> space(model, freedom_of(world), commands_of(world));
  return Search<LockModel>(space, {.memory = kMemory}).run();
}

void expect_sound(const LockWorld& world, std::uint64_t at_least) {
  check::expect_sound(found_in(world), at_least);
}
std::string broken_in(const LockWorld& world) { return check::broken_in(found_in(world)); }

// --- silence means consent ---

TEST(CheckLock, ExcludesAndReachesRest) {
  expect_sound({.sites = 2}, 199);
  expect_sound({.contending = 3, .hold = 2}, 7'330);
  expect_sound({.sites = 2, .entries = 2, .delay_max = 2, .hold = 2}, 14'345);
}
TEST(CheckLock, ToleratesACrashAndARestart) {
  expect_sound({.sites = 2, .entries = 2, .budget = {.crashes = 1, .restarts = 1}}, 28'104);
  expect_sound({.contending = 3, .budget = {.crashes = 1}}, 14'076);
}
TEST(CheckLock, ReadersAndWriters) {
  expect_sound({.contending = 3, .readers = 2}, 4'512);
  expect_sound({.readers = 1, .budget = {.crashes = 1, .restarts = 1}}, 2'000);
}
TEST(CheckLock, LargerWorlds) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.contending = 3, .delay_max = 2}, 61'208);
  expect_sound({.contending = 3, .entries = 2}, 1'014'858);
  expect_sound({.sites = 4, .contending = 4}, 184'686);
  expect_sound({.contending = 3, .budget = {.crashes = 1, .restarts = 1}}, 93'115);
  expect_sound({.sites = 2, .entries = 2, .budget = {.crashes = 2, .restarts = 2}}, 102'661);
  expect_sound({.contending = 3, .readers = 2, .budget = {.crashes = 1, .restarts = 1}}, 70'612);
}

// --- variants that violate exclusion ---

TEST(CheckLock, PrintedVersionViolatesExclusion) {
  EXPECT_EQ(broken_in({.sites = 2, .variant = Variant::as_printed}), "exclusion");
  EXPECT_EQ(broken_in({.sites = 2, .readers = 1, .variant = Variant::as_printed}), "exclusion");
}
// The corrected window covers the handling of a request and of its reply.
TEST(CheckLock, WindowForOneHandlerViolatesExclusion) {
  expect_sound({.sites = 2, .hold = 2, .handling = 2}, 471);
  EXPECT_EQ(broken_in({.sites = 2, .hold = 2, .handling = 2, .variant = Variant::printed_window}),
            "exclusion");
}
// The printed numbers suffice as long as no site loses its memory.
TEST(CheckLock, PrintedNumbersViolateExclusionAfterARestart) {
  expect_sound({.sites = 2, .entries = 2, .variant = Variant::modulo}, 4'000);
  EXPECT_EQ(broken_in({.sites = 2,
                       .entries = 2,
                       .budget = {.crashes = 1, .restarts = 1},
                       .variant = Variant::modulo}),
            "exclusion");
}
// A time-out that covers the holds of all others suffices until a site crashes: then its refusers
// wait for their own time-outs, which begin later.
TEST(CheckLock, SilentSecondTimeoutViolatesExclusionAfterACrash) {
  const Variant variant = Variant::silent_second_timeout;
  expect_sound({.contending = 3, .hold = 3, .variant = variant}, 1'000);
  EXPECT_EQ(broken_in({.contending = 3, .hold = 2, .budget = {.crashes = 1}, .variant = variant}),
            "exclusion");
}
TEST(CheckLock, OneLostMessageViolatesExclusion) {
  EXPECT_EQ(broken_in({.sites = 2, .hold = 2, .budget = {.losses = 1}}), "exclusion");
}

// --- explicit replies ---

TEST(CheckLock, ExplicitRepliesTolerateLossAndDuplicates) {
  expect_sound({.contending = 3, .by_replies = true}, 2'536);
  expect_sound({.sites = 2, .by_replies = true, .budget = {.losses = 1, .duplicates = 1}}, 3'818);
}
TEST(CheckLock, ExplicitRepliesWaitForCrashedSites) {
  EXPECT_EQ(broken_in({.sites = 2, .by_replies = true, .budget = {.crashes = 1}}),
            "can-always-come-good");
}

}  // namespace
}  // namespace tempo::check
