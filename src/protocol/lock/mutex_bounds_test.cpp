// The bounded-delay mutex when its bounds appear, change and disappear: silence, and explicit
// replies where silence cannot be trusted.
#include <gtest/gtest.h>

#include "protocol/lock/mutex_test_harness.h"

namespace tempo::lock {
namespace {

TEST(Mutex, StopsTrustingSilenceInTheSameStep) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(2, request(9));
  harness.outputs();
  harness.command(Command::no_bounds());
  EXPECT_EQ(harness.outputs(), (Outputs{"distrusts", "2:positive 9", "*request 10 reply"}));
  harness.pass(1000);
  harness.receive(0, positive(10));
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.command(Command::bounds(kBounds));  // too late for this request
  harness.pass(1000);
  EXPECT_EQ(harness.outputs(), Outputs{"trusts"});
  harness.receive(2, positive(10));
  EXPECT_EQ(harness.outputs(), Outputs{"granted 10"});
  harness.release();
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 11"});
}

TEST(Mutex, ASiteInsideStaysInsideWithoutBounds) {
  Harness harness = inside(three_sites(), 5);
  harness.command(Command::no_bounds());
  EXPECT_EQ(harness.outputs(), Outputs{"distrusts"});
  EXPECT_EQ(harness.site().phase(), Phase::inside);
}

TEST(Mutex, WiderBoundsStartAnotherWindow) {
  for (const Steps when : {5U, 40U}) {
    Harness harness = asking(three_sites(), 5);
    harness.receive(0, negative(5, 3));
    harness.pass(when);
    Bounds wider = kBounds;
    wider.delay_max = 20ns;
    harness.command(Command::bounds(wider));
    harness.receive(0, positive(5));
    harness.pass(46);
    EXPECT_EQ(harness.outputs(), Outputs{}) << when;
    harness.pass(1);
    EXPECT_EQ(harness.outputs(), Outputs{"granted 5"}) << when;
  }
}

TEST(Mutex, TighterBoundsDoNotChangeTheCurrentRequest) {
  Harness harness = asking(three_sites(), 5);
  Bounds tighter = kBounds;
  tighter.delay_max = 2ns;
  harness.command(Command::bounds(tighter));
  harness.pass(26);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});
}

TEST(Mutex, IgnoresImpossibleBounds) {
  Harness harness(three_sites());
  harness.command(Command::no_bounds());
  harness.command(Command::bounds({.step_min = 2ns, .step_max = 1ns}));
  EXPECT_FALSE(harness.site().trusts());
}

TEST(Mutex, SendsExplicitRepliesAtOnceOrWhenItLeaves) {
  Harness idle(three_sites());
  idle.receive(0, request(3, Mode::exclusive, true));
  EXPECT_EQ(idle.outputs(), Outputs{"0:positive 3"});
  Harness harness = inside(three_sites(), 5);
  harness.receive(0, request(6, Mode::exclusive, true));
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.release();
  EXPECT_EQ(harness.outputs(), Outputs{"0:positive 6"});
}

Rules without_bounds() {
  Rules rules = three_sites();
  rules.bounds.reset();
  rules.repeat = 100;
  return rules;
}

TEST(Mutex, RepeatsRequestsWithoutAReply) {
  Harness harness(without_bounds());
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 1 reply"});
  harness.receive(2, positive(1));
  harness.pass(100);
  EXPECT_EQ(harness.outputs(), Outputs{"0:request 1 reply"});
  harness.pass(100);
  EXPECT_EQ(harness.outputs(), Outputs{"0:request 1 reply"});
  harness.receive(0, positive(1));
  EXPECT_EQ(harness.outputs(), Outputs{"granted 1"});
}

TEST(Mutex, WithoutBoundsARestartedSiteWaitsForAllAnswers) {
  Harness harness(without_bounds(), Birth::again);
  harness.acquire();
  harness.receive(0, {.kind = Kind::answer, .number = 8, .life = kIncarnation});
  harness.pass(100);
  EXPECT_EQ(harness.outputs(), (Outputs{"*restart 0", "*restart 0"}));
  harness.receive(2, {.kind = Kind::answer, .number = 3, .life = kIncarnation});
  harness.pass(4);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 9 reply"});
}

TEST(Mutex, WithoutBoundsARestartedPeerIsAskedAgain) {
  Harness harness(without_bounds());
  harness.acquire();
  harness.pass(4);
  harness.outputs();
  harness.receive(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(harness.outputs(), (Outputs{"2:answer 1", "2:request 1 reply"}));
}

}  // namespace
}  // namespace tempo::lock
