// Spirakis and Tampakas 1989, section 2, as corrected: each rule by itself, on one site that is
// driven by hand.
#include "protocol/lock/mutex.h"

#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "protocol/lock/mutex_test_harness.h"

namespace tempo::lock {
namespace {

// --- the formulas ---

TEST(MutexRules, WindowCoversBothWaysAndAllHandlers) {
  Rules rules = three_sites();
  EXPECT_EQ(rules.window(kBounds), 27U);  // 2 * 10 + (2 + 1) * 2, and one
  rules.handling.serial = true;
  EXPECT_EQ(rules.window(kBounds), 53U);  // 2 * 10 + 2 * 2 * (2 + 2 * 1) * 2, and one
  rules.hold_outlives = true;
  EXPECT_EQ(rules.window(kBounds), 63U);  // and 5 * 2
  rules.hold_outlives = false;
  rules.handling.quick_restart = true;
  EXPECT_EQ(rules.window(kBounds), 69U);  // 2 * 10 + 2 * 2 * (4 + 2 * 1) * 2, and one
  Bounds coarse = kBounds;
  coarse.step_min = coarse.step_max = 3ns;
  EXPECT_EQ(rules.window(coarse), 32U);  // (20 + 24 * 3) / 3 rounded up, and one
}

TEST(MutexRules, PatienceCoversAHoldAndAWindowOfTheSlowest) {
  Rules rules = three_sites();
  EXPECT_EQ(rules.patience(kBounds), 71U);  // (5 + 27 + 3) * 2, and one
  rules.readers = true;
  EXPECT_EQ(rules.patience(kBounds), 142U);
  rules.variant = Variant::silent_second_timeout;
  EXPECT_EQ(rules.patience(kBounds), 130U);  // 2 * ((5 + 27) * 2, and one)
}

// --- rules 1 to 3 ---

TEST(Mutex, EntersAfterSleepAndWindowWithoutARefusal) {
  Harness harness(three_sites());
  harness.acquire();
  harness.pass(3);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 1"});
  harness.pass(26);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"granted 1"});
  harness.release();
  EXPECT_EQ(harness.outputs(), Outputs{});
  EXPECT_EQ(harness.site().phase(), Phase::idle);
}

TEST(Mutex, TakesItsNumberAfterTheSleep) {
  Harness harness(three_sites());
  harness.acquire();
  harness.pass(2);
  harness.receive(2, request(7));
  EXPECT_EQ(harness.outputs(), Outputs{});  // a sleeping site refuses no request
  harness.pass(2);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 8"});
}

TEST(Mutex, AsPrintedTakesItsNumberBeforeTheSleep) {
  Rules rules = three_sites();
  rules.variant = Variant::as_printed;
  Harness harness(rules);
  harness.acquire();
  harness.pass(2);
  harness.receive(2, request(7));
  harness.pass(2);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 1"});
}

// Two refusals: from 4 + 2 * 3 to 4 + 2 * 2 * 3 steps.
TEST(Mutex, SleepsLongerAfterMoreRefusals) {
  for (const std::uint64_t drawn : {0U, 6U, 100U}) {
    Harness harness = asking(three_sites(), 3);
    harness.receive(0, negative(3, 1));
    harness.receive(2, negative(3, 2));
    harness.receive(0, positive(3));
    harness.receive(2, positive(3));
    harness.pass(27);
    harness.release();
    harness.outputs();
    harness.draws(drawn);
    harness.acquire();
    harness.pass(4 + 6 + std::min<std::uint64_t>(drawn, 6) - 1);
    EXPECT_EQ(harness.outputs(), Outputs{});
    harness.pass(1);
    EXPECT_EQ(harness.outputs(), Outputs{"*request 4"});
  }
}

TEST(Mutex, SleepsForAllRefusalsIfTheLoadJumps) {
  Rules rules = three_sites();
  rules.load_jumps = true;
  Harness harness(rules);
  harness.acquire();
  harness.pass(4 + 9 - 1);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 1"});
}

// --- rules 4, 5 and 7 ---

TEST(Mutex, RefusesLaterRequestsUntilItLeaves) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(2, request(6));
  harness.receive(0, request(4));
  EXPECT_EQ(harness.outputs(), Outputs{"2:negative 6 behind 5"});
  harness.pass(27);
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});
  harness.release();
  EXPECT_EQ(harness.outputs(), Outputs{"2:positive 6"});
  harness.receive(2, request(6));
  EXPECT_EQ(harness.outputs(), Outputs{});
}

TEST(Mutex, OfEqualNumbersTheLowerSiteGoesFirst) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(0, request(5));
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.receive(2, request(5));
  EXPECT_EQ(harness.outputs(), Outputs{"2:negative 5 behind 5"});
}

TEST(Mutex, ASiteInsideRefusesOldNumbersToo) {
  Harness harness = inside(three_sites(), 5);
  harness.receive(0, request(2));
  EXPECT_EQ(harness.outputs(), Outputs{"0:negative 2 behind 5"});
}

TEST(Mutex, WaitsForRefusers) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(0, negative(5, 3));
  harness.receive(2, negative(5, 4));
  harness.pass(27);
  harness.receive(0, positive(5));
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.receive(2, positive(5));
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});
}

TEST(Mutex, IgnoresAnOvertakenNegativeReply) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(0, positive(5));
  harness.receive(0, negative(5, 3));
  harness.pass(27);
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});
}

TEST(Mutex, DropsRepliesToAnotherNumber) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(0, negative(5, 3));
  harness.receive(0, positive(4));
  harness.receive(2, negative(4, 3));
  harness.pass(27);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.receive(0, positive(5));
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});
}

TEST(Mutex, DropsRepliesToAnotherIncarnation) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(0, negative(5, 3));
  harness.receive(0, {.kind = Kind::positive, .number = 5, .life = Incarnation{8}});
  harness.pass(27);
  EXPECT_EQ(harness.outputs(), Outputs{});
}

TEST(Mutex, AWithdrawnRequestTakesItsRefusalsBack) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(2, request(6));
  harness.outputs();
  harness.release();
  EXPECT_EQ(harness.outputs(), Outputs{"2:positive 6"});
  harness.pass(1000);
  EXPECT_EQ(harness.outputs(), Outputs{});
}

TEST(Mutex, IgnoresUnknownSitesAndItself) {
  Harness harness = asking(three_sites(), 1);
  harness.receive(1, request(9));
  harness.receive(3, request(9));
  EXPECT_EQ(harness.site().highest(), 1U);
  EXPECT_EQ(harness.outputs(), Outputs{});
}

// --- rule 6 ---

// A site that both others refused, site 2 first.
Harness refused_by_two() {
  Harness harness = asking(three_sites(), 5);
  harness.receive(0, negative(5, 4));
  harness.receive(2, negative(5, 3));
  harness.pass(27);
  return harness;
}

TEST(Mutex, AsksTheFirstRefuserAgain) {
  Harness harness = refused_by_two();
  harness.pass(70);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"2:request 5"});
}

TEST(Mutex, WaitsAgainForALiveRefuser) {
  Harness harness = refused_by_two();
  harness.pass(71 + 20);
  harness.outputs();
  harness.receive(2, negative(5, 3));
  harness.pass(70);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"2:request 5"});
}

TEST(Mutex, TakesSilenceOfARefuserForConsent) {
  Harness harness = refused_by_two();
  harness.pass(71 + 26);
  EXPECT_EQ(harness.outputs(), Outputs{"2:request 5"});
  harness.pass(1);                     // from here on site 0 is the first refuser
  harness.receive(2, negative(5, 3));  // too late
  harness.pass(70);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"0:request 5"});
  harness.pass(27);
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});
}

TEST(Mutex, RestartsThePatienceForAnotherFirstRefuser) {
  Harness harness = refused_by_two();
  harness.pass(50);
  harness.receive(2, positive(5));
  harness.pass(70);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"0:request 5"});
}

TEST(Mutex, RefusesAgainWhenAskedAgain) {
  Harness harness = inside(three_sites(), 5);
  harness.receive(2, request(6));
  harness.receive(2, request(6));
  EXPECT_EQ(harness.outputs(), (Outputs{"2:negative 6 behind 5", "2:negative 6 behind 5"}));
  harness.release();
  EXPECT_EQ(harness.outputs(), Outputs{"2:positive 6"});
}

TEST(Mutex, TheSilentSecondTimeoutDoesNotAsk) {
  Rules rules = three_sites();
  rules.variant = Variant::silent_second_timeout;
  Harness harness = asking(rules, 5);
  harness.receive(0, negative(5, 4));
  harness.pass(27 + 129);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});
}

// --- rule 8 ---

TEST(Mutex, AbstainsForAWindowAndLearnsTheHighestNumber) {
  Harness harness(three_sites(), Birth::again);
  EXPECT_EQ(harness.outputs(), Outputs{"*restart 0"});
  harness.acquire();
  harness.receive(0, {.kind = Kind::answer, .number = 8, .life = kIncarnation});
  harness.receive(
      2, {.kind = Kind::answer, .number = 12, .life = Incarnation{8}});  // of another incarnation
  harness.receive(2, request(6));
  harness.pass(26 + 4);
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.pass(1);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 9"});
}

TEST(Mutex, ARestartReplacesThePositiveReply) {
  Harness harness = refused_by_two();
  harness.receive(0, positive(5));
  harness.receive(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(harness.outputs(), (Outputs{"2:answer 5", "granted 5"}));
}

// A restart message was three seconds late. In the meantime its site had refused a reader and
// entered as a writer; the reader took the message for the end of that refusal and entered too.
TEST(Mutex, AnOldRestartDoesNotReplaceThePositiveReply) {
  Rules rules = three_sites();
  rules.late_restarts = true;
  Harness harness = asking(rules, 5);
  harness.receive(2, negative(5, 3));
  harness.pass(27);
  const Message restart{.kind = Kind::restart, .life = Incarnation{4}};
  harness.receive(2, restart);
  EXPECT_EQ(harness.outputs(), (Outputs{"2:answer 5", "2:request 5"}));
  harness.receive(2, negative(5, 3));
  harness.pass(60);
  EXPECT_EQ(harness.outputs(), Outputs{}) << "it still refuses";
  harness.receive(2, positive(5));
  EXPECT_EQ(harness.outputs(), Outputs{"granted 5"});

  Harness early = asking(rules, 5);  // the site has restarted within the window
  early.receive(2, negative(5, 3));
  early.pass(20);
  early.receive(2, restart);
  early.receive(2, restart);
  EXPECT_EQ(early.outputs(), (Outputs{"2:answer 5", "2:request 5", "2:answer 5"}));
  early.pass(26);
  EXPECT_EQ(early.outputs(), Outputs{});
  early.pass(1);
  EXPECT_EQ(early.outputs(), Outputs{"granted 5"}) << "silence within a window";
}

TEST(Mutex, ARestartedSiteIsOwedNoReply) {
  Harness harness = inside(three_sites(), 5);
  harness.receive(2, request(6));
  harness.receive(2, {.kind = Kind::restart, .life = Incarnation{4}});
  harness.outputs();
  harness.release();
  EXPECT_EQ(harness.outputs(), Outputs{});
}

TEST(Mutex, ARestartDoesNotEndAHoldThatOutlivesItsSite) {
  Rules rules = three_sites();
  rules.hold_outlives = true;
  Harness harness = asking(rules, 5);
  harness.receive(2, negative(5, 3));
  harness.pass(37);
  harness.receive(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(harness.outputs(), Outputs{"2:answer 5"});

  Harness restarted(rules, Birth::again);
  restarted.outputs();
  restarted.receive(0, request(3, Mode::exclusive, true));
  EXPECT_EQ(restarted.outputs(), Outputs{});
  restarted.pass(37);
  EXPECT_EQ(restarted.outputs(), Outputs{"0:positive 3"});
}

// --- readers and writers ---

TEST(Mutex, ReadersDoNotRefuseReaders) {
  Harness harness = inside(three_sites(), 5, Mode::shared);
  harness.receive(0, request(6, Mode::shared));
  EXPECT_EQ(harness.outputs(), Outputs{});
  harness.receive(2, request(7));
  EXPECT_EQ(harness.outputs(), Outputs{"2:negative 7 behind 5"});
  EXPECT_EQ(harness.site().highest(), 7U);
}

TEST(Mutex, AWaitingWriterRefusesLaterReaders) {
  Harness harness = asking(three_sites(), 5);
  harness.receive(2, request(6, Mode::shared));
  EXPECT_EQ(harness.outputs(), Outputs{"2:negative 6 behind 5"});
}

// --- numbers ---

TEST(Mutex, PrintedNumbersWrapAround) {
  Rules rules = three_sites();
  rules.variant = Variant::modulo;  // modulo 5
  Harness harness(rules);
  harness.receive(0, request(2));
  harness.receive(0, request(4));
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 0"});
  harness.receive(2, request(1));  // after 0
  EXPECT_EQ(harness.outputs(), Outputs{"2:negative 1 behind 0"});
  harness.receive(0, request(4));  // before 0, which is 4 away
  EXPECT_EQ(harness.outputs(), Outputs{});
}

// A site that returns without state takes a number that is far behind for one that is ahead.
TEST(Mutex, PrintedNumbersCannotBeRelearned) {
  Rules rules = three_sites();
  rules.variant = Variant::modulo;
  Harness harness(rules);
  harness.receive(0, request(3));
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.outputs(), Outputs{"*request 1"});
}

// --- the field list ---

TEST(Mutex, ListsAllItsFields) {
  Harness harness = refused_by_two();
  harness.receive(2, request(6));
  harness.pass(75);
  const Mutex& site = harness.site();
  EXPECT_EQ(unnoticed_writes(site, BootTime{1s}), Outputs{});
  EXPECT_EQ(unnoticed_writes(mutex::Message{}, BootTime{}), Outputs{});
}

}  // namespace
}  // namespace tempo::lock
