// The lock of known time when its bounds come, change and go: silence, and explicit replies where
// nobody may trust it.
#include <gtest/gtest.h>

#include "protocol/lock/mutex_test_harness.h"

namespace tempo::lock {
namespace {

TEST(Mutex, TrustsSilenceNoMoreFromTheStepInWhichItIsTold) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(2, request(9));
  harness.done();
  harness.notify(Command::no_bounds());
  EXPECT_EQ(harness.done(), (Words{"distrusts", "2:positive 9", "*request 10 reply"}));
  harness.pass(1000);
  harness.hears(0, positive(10));
  EXPECT_EQ(harness.done(), Words{});
  harness.notify(Command::bounds(kBounds));  // too late for this request
  harness.pass(1000);
  EXPECT_EQ(harness.done(), Words{"trusts"});
  harness.hears(2, positive(10));
  EXPECT_EQ(harness.done(), Words{"granted 10"});
  harness.release();
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.done(), Words{"*request 11"});
}

TEST(Mutex, WhoIsInsideStaysInsideWhateverHappensToTheBounds) {
  Harness harness = inside(three_sites(), 5);
  harness.notify(Command::no_bounds());
  EXPECT_EQ(harness.done(), Words{"distrusts"});
  EXPECT_EQ(harness.site().phase(), Phase::inside);
}

TEST(Mutex, WiderBoundsOpenAnotherWindow) {
  for (const Steps when : {5U, 40U}) {
    Harness harness = asking(three_sites(), 5);
    harness.hears(0, negative(5, 3));
    harness.pass(when);
    Bounds wider = kBounds;
    wider.delay_max = 20ns;
    harness.notify(Command::bounds(wider));
    harness.hears(0, positive(5));
    harness.pass(46);
    EXPECT_EQ(harness.done(), Words{}) << when;
    harness.pass(1);
    EXPECT_EQ(harness.done(), Words{"granted 5"}) << when;
  }
}

TEST(Mutex, TighterBoundsChangeNothingForTheRequestUnderWay) {
  Harness harness = asking(three_sites(), 5);
  Bounds tighter = kBounds;
  tighter.delay_max = 2ns;
  harness.notify(Command::bounds(tighter));
  harness.pass(26);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"granted 5"});
}

TEST(Mutex, BoundsThatCannotBeAreNotBelieved) {
  Harness harness(three_sites());
  harness.notify(Command::no_bounds());
  harness.notify(Command::bounds({.step_min = 2ns, .step_max = 1ns}));
  EXPECT_FALSE(harness.site().trusts());
}

TEST(Mutex, RepliesExplicitlyAtOnceOrWhenItLeaves) {
  Harness idle(three_sites());
  idle.hears(0, request(3, Mode::exclusive, true));
  EXPECT_EQ(idle.done(), Words{"0:positive 3"});
  Harness harness = inside(three_sites(), 5);
  harness.hears(0, request(6, Mode::exclusive, true));
  EXPECT_EQ(harness.done(), Words{});
  harness.release();
  EXPECT_EQ(harness.done(), Words{"0:positive 6"});
}

Rules without_bounds() {
  Rules rules = three_sites();
  rules.bounds.reset();
  rules.repeat = 100;
  return rules;
}

TEST(Mutex, AsksAgainWhoHasNotRepliedAndNeverGuesses) {
  Harness harness(without_bounds());
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.done(), Words{"*request 1 reply"});
  harness.hears(2, positive(1));
  harness.pass(100);
  EXPECT_EQ(harness.done(), Words{"0:request 1 reply"});
  harness.pass(100);
  EXPECT_EQ(harness.done(), Words{"0:request 1 reply"});
  harness.hears(0, positive(1));
  EXPECT_EQ(harness.done(), Words{"granted 1"});
}

TEST(Mutex, WithoutBoundsARestartedSiteWaitsForEverybodysAnswer) {
  Harness harness(without_bounds(), Birth::again);
  harness.acquire();
  harness.hears(0, {.kind = Kind::answer, .number = 8, .life = kLife});
  harness.pass(100);
  EXPECT_EQ(harness.done(), (Words{"*restart 0", "*restart 0"}));
  harness.hears(2, {.kind = Kind::answer, .number = 3, .life = kLife});
  harness.pass(4);
  EXPECT_EQ(harness.done(), Words{"*request 9 reply"});
}

TEST(Mutex, WithoutBoundsAPeerThatRestartsIsAskedAgain) {
  Harness harness(without_bounds());
  harness.acquire();
  harness.pass(4);
  harness.done();
  harness.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(harness.done(), (Words{"2:answer 1", "2:request 1 reply"}));
}

}  // namespace
}  // namespace tempo::lock
