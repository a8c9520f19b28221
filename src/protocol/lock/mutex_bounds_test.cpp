// The lock of known time when its bounds come, change and go: silence, and explicit replies where
// nobody may trust it.
#include <gtest/gtest.h>

#include "protocol/lock/mutex_test_hand.h"

namespace tempo::lock {
namespace {

TEST(Mutex, TrustsSilenceNoMoreFromTheStepInWhichItIsTold) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(2, request(9));
  hand.done();
  hand.notify(Command::no_bounds());
  EXPECT_EQ(hand.done(), (Words{"distrusts", "2:positive 9", "*request 10 reply"}));
  hand.pass(1000);
  hand.hears(0, positive(10));
  EXPECT_EQ(hand.done(), Words{});
  hand.notify(Command::bounds(kBounds));  // too late for this request
  hand.pass(1000);
  EXPECT_EQ(hand.done(), Words{"trusts"});
  hand.hears(2, positive(10));
  EXPECT_EQ(hand.done(), Words{"granted 10"});
  hand.release();
  hand.acquire();
  hand.pass(4);
  EXPECT_EQ(hand.done(), Words{"*request 11"});
}

TEST(Mutex, WhoIsInsideStaysInsideWhateverHappensToTheBounds) {
  Hand hand = inside(three_sites(), 5);
  hand.notify(Command::no_bounds());
  EXPECT_EQ(hand.done(), Words{"distrusts"});
  EXPECT_EQ(hand.site().phase(), Phase::inside);
}

TEST(Mutex, WiderBoundsOpenAnotherWindow) {
  for (const Steps when : {5U, 40U}) {
    Hand hand = asking(three_sites(), 5);
    hand.hears(0, negative(5, 3));
    hand.pass(when);
    Bounds wider = kBounds;
    wider.delay_max = 20ns;
    hand.notify(Command::bounds(wider));
    hand.hears(0, positive(5));
    hand.pass(46);
    EXPECT_EQ(hand.done(), Words{}) << when;
    hand.pass(1);
    EXPECT_EQ(hand.done(), Words{"granted 5"}) << when;
  }
}

TEST(Mutex, TighterBoundsChangeNothingForTheRequestUnderWay) {
  Hand hand = asking(three_sites(), 5);
  Bounds tighter = kBounds;
  tighter.delay_max = 2ns;
  hand.notify(Command::bounds(tighter));
  hand.pass(26);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"granted 5"});
}

TEST(Mutex, BoundsThatCannotBeAreNotBelieved) {
  Hand hand(three_sites());
  hand.notify(Command::no_bounds());
  hand.notify(Command::bounds({.step_min = 2ns, .step_max = 1ns}));
  EXPECT_FALSE(hand.site().trusts());
}

TEST(Mutex, RepliesExplicitlyAtOnceOrWhenItLeaves) {
  Hand idle(three_sites());
  idle.hears(0, request(3, Mode::exclusive, true));
  EXPECT_EQ(idle.done(), Words{"0:positive 3"});
  Hand hand = inside(three_sites(), 5);
  hand.hears(0, request(6, Mode::exclusive, true));
  EXPECT_EQ(hand.done(), Words{});
  hand.release();
  EXPECT_EQ(hand.done(), Words{"0:positive 6"});
}

Rules without_bounds() {
  Rules rules = three_sites();
  rules.bounds.reset();
  rules.repeat = 100;
  return rules;
}

TEST(Mutex, AsksAgainWhoHasNotRepliedAndNeverGuesses) {
  Hand hand(without_bounds());
  hand.acquire();
  hand.pass(4);
  EXPECT_EQ(hand.done(), Words{"*request 1 reply"});
  hand.hears(2, positive(1));
  hand.pass(100);
  EXPECT_EQ(hand.done(), Words{"0:request 1 reply"});
  hand.pass(100);
  EXPECT_EQ(hand.done(), Words{"0:request 1 reply"});
  hand.hears(0, positive(1));
  EXPECT_EQ(hand.done(), Words{"granted 1"});
}

TEST(Mutex, WithoutBoundsARestartedSiteWaitsForEverybodysAnswer) {
  Hand hand(without_bounds(), Birth::again);
  hand.acquire();
  hand.hears(0, {.kind = Kind::answer, .number = 8, .life = kLife});
  hand.pass(100);
  EXPECT_EQ(hand.done(), (Words{"*restart 0", "*restart 0"}));
  hand.hears(2, {.kind = Kind::answer, .number = 3, .life = kLife});
  hand.pass(4);
  EXPECT_EQ(hand.done(), Words{"*request 9 reply"});
}

TEST(Mutex, WithoutBoundsAPeerThatRestartsIsAskedAgain) {
  Hand hand(without_bounds());
  hand.acquire();
  hand.pass(4);
  hand.done();
  hand.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(hand.done(), (Words{"2:answer 1", "2:request 1 reply"}));
}

}  // namespace
}  // namespace tempo::lock
