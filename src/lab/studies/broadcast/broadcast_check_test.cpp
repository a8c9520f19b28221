// Atomic broadcast of three processes in every interleaving: with the right Delta it keeps its
// promises, with whatever is left out it does not.
#include <string>

#include <gtest/gtest.h>

#include "lab/check/expect.h"
#include "lab/check/explore.h"
#include "lab/studies/broadcast/broadcast_model.h"

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

TEST(CheckBroadcast, BearsDelaysAndClocksApart) {
  expect_sound({.faulty = 0, .delay_max = 2}, 100);
}
TEST(CheckBroadcast, ATickLessThanThatIsTooShort) {
  EXPECT_EQ(broken_in({.faulty = 0, .delay_max = 2, .short_by = 1}), "validity");
}
TEST(CheckBroadcast, BearsOneLoss) { expect_sound({.budget = {.losses = 1}}, 100); }
TEST(CheckBroadcast, BearsACrash) { expect_sound({.budget = {.crashes = 1}}, 100); }

// The first omits whatever it likes: it may stop half way through a broadcast.
TEST(CheckBroadcast, BearsASenderThatReachesSome) { expect_sound({.first_is_faulty = true}, 100); }
TEST(CheckBroadcast, BearsItWithLongerDelays) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.first_is_faulty = true, .delay_max = 2}, 100);
}
TEST(CheckBroadcast, ThenATickLessIsTooShort) {
  EXPECT_EQ(broken_in({.first_is_faulty = true, .speakers = 1, .short_by = 1}), "agreement");
}
TEST(CheckBroadcast, ThenOneHopLessIsTooShort) {
  EXPECT_EQ(broken_in({.faulty = 0, .first_is_faulty = true, .speakers = 1}), "agreement");
}
TEST(CheckBroadcast, ThenSomebodyMustHandOn) {
  EXPECT_EQ(broken_in({.first_is_faulty = true, .speakers = 1, .relays = false}), "agreement");
}

// The malicious class: the first says different things under one number, and holds them back.
BroadcastWorld with_a_liar() {
  return {.first_is_faulty = true,
          .faults = Faults::malicious,
          .precision = 0,
          .speakers = 1,
          .window = 2};
}

// A second word under one number that comes too late to be handed on must not count: found here.
TEST(CheckBroadcast, BearsALiarThatCannotForge) { expect_sound(with_a_liar(), 100); }
TEST(CheckBroadcast, ThenEveryHopMustBeTested) {
  BroadcastWorld world = with_a_liar();
  world.tests_hop = false;
  EXPECT_EQ(broken_in(world), "agreement");
}
TEST(CheckBroadcast, ThenATickLessIsTooShortToo) {
  BroadcastWorld world = with_a_liar();
  world.short_by = 1;
  EXPECT_EQ(broken_in(world), "agreement");
}
TEST(CheckBroadcast, BearsALiarWithClocksApartAndBesideACorrectSpeaker) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  BroadcastWorld world = with_a_liar();
  world.speakers = 2;
  expect_sound(world, 1'000);
  world = with_a_liar();
  world.precision = 1;
  world.window = 4;
  expect_sound(world, 796'980);
}

}  // namespace
}  // namespace tempo::check
