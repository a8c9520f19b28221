// Exhaustive checks of atomic broadcast among three processes: the properties hold with the right
// Delta, and fail if a part of the protocol is left out.
#include <string>

#include <gtest/gtest.h>

#include "lab/check/expect.h"
#include "lab/check/explore.h"
#include "lab/studies/group/broadcast/broadcast_model.h"

namespace tempo::check {
namespace {

using broadcast::Faults;

constexpr std::size_t kMemory = std::size_t{1} << 30;

Finding found_in(const BroadcastWorld& world) {
  const BroadcastModel model{.world = world, .rules = rules_of(world)};
  Space<BroadcastModel> space(model, freedom_of(world));
  return Search<BroadcastModel>(space, {.memory = kMemory}).run();
}

void expect_sound(const BroadcastWorld& world, std::uint64_t at_least) {
  check::expect_sound(found_in(world), at_least);
}
std::string broken_in(const BroadcastWorld& world) { return check::broken_in(found_in(world)); }

TEST(CheckBroadcast, ToleratesDelaysAndClockOffsets) {
  expect_sound({.faulty = 0, .delay_max = 2}, 100);
}
TEST(CheckBroadcast, OneTickLessIsTooShort) {
  EXPECT_EQ(broken_in({.faulty = 0, .delay_max = 2, .short_by = 1}), "validity");
}
TEST(CheckBroadcast, ToleratesOneLoss) { expect_sound({.budget = {.losses = 1}}, 100); }
TEST(CheckBroadcast, ToleratesACrash) { expect_sound({.budget = {.crashes = 1}}, 100); }

// The first process omits any copies: it may stop in the middle of a broadcast.
TEST(CheckBroadcast, ToleratesAPartialBroadcast) { expect_sound({.first_is_faulty = true}, 100); }
TEST(CheckBroadcast, ToleratesAPartialBroadcastWithLongerDelays) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.first_is_faulty = true, .delay_max = 2}, 100);
}
TEST(CheckBroadcast, PartialBroadcastNeedsTheLastTick) {
  EXPECT_EQ(broken_in({.first_is_faulty = true, .speakers = 1, .short_by = 1}), "agreement");
}
TEST(CheckBroadcast, PartialBroadcastNeedsTheLastHop) {
  EXPECT_EQ(broken_in({.faulty = 0, .first_is_faulty = true, .speakers = 1}), "agreement");
}
TEST(CheckBroadcast, PartialBroadcastNeedsRelays) {
  EXPECT_EQ(broken_in({.first_is_faulty = true, .speakers = 1, .relays = false}), "agreement");
}

// Malicious class: the first process sends different contents under one number and delays them.
BroadcastWorld with_malicious_process() {
  return {.first_is_faulty = true,
          .faults = Faults::malicious,
          .precision = 0,
          .speakers = 1,
          .window = 2};
}

// A second content under one number that arrives too late to be relayed must not count; this check
// found it.
TEST(CheckBroadcast, ToleratesAMaliciousProcessThatCannotForge) {
  expect_sound(with_malicious_process(), 100);
}
TEST(CheckBroadcast, MaliciousProcessNeedsTheTestOfEveryHop) {
  BroadcastWorld world = with_malicious_process();
  world.tests_hop = false;
  EXPECT_EQ(broken_in(world), "agreement");
}
TEST(CheckBroadcast, MaliciousProcessNeedsTheLastTick) {
  BroadcastWorld world = with_malicious_process();
  world.short_by = 1;
  EXPECT_EQ(broken_in(world), "agreement");
}
TEST(CheckBroadcast, ToleratesAMaliciousProcessWithClockOffsetsAndACorrectSender) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  BroadcastWorld world = with_malicious_process();
  world.speakers = 2;
  expect_sound(world, 1'000);
  world = with_malicious_process();
  world.precision = 1;
  world.window = 4;
  expect_sound(world, 796'980);
}

}  // namespace
}  // namespace tempo::check
