// Spirakis and Tampakas 1989, section 2, as corrected: each rule by itself, one site told by hand
// what happens.
#include "protocol/lock/mutex.h"

#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "protocol/lock/mutex_test_hand.h"

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
  EXPECT_EQ(rules.patience(kBounds), 32U);  // 5 + 27
}

// --- rules 1 to 3 ---

TEST(Mutex, EntersAfterSleepAndWindowIfNobodyRefuses) {
  Hand hand(three_sites());
  hand.acquire();
  hand.pass(3);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"*request 1"});
  hand.pass(26);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"granted 1"});
  hand.release();
  EXPECT_EQ(hand.done(), Words{});
  EXPECT_EQ(hand.site().phase(), Phase::idle);
}

TEST(Mutex, TakesItsNumberAfterTheSleep) {
  Hand hand(three_sites());
  hand.acquire();
  hand.pass(2);
  hand.hears(2, request(7));
  EXPECT_EQ(hand.done(), Words{});  // asleep it refuses nobody
  hand.pass(2);
  EXPECT_EQ(hand.done(), Words{"*request 8"});
}

TEST(Mutex, AsPrintedTakesItBefore) {
  Rules rules = three_sites();
  rules.variant = Variant::as_printed;
  Hand hand(rules);
  hand.acquire();
  hand.pass(2);
  hand.hears(2, request(7));
  hand.pass(2);
  EXPECT_EQ(hand.done(), Words{"*request 1"});
}

// Two refusals: from 4 + 2 * 3 to 4 + 2 * 2 * 3 steps.
TEST(Mutex, SleepsLongerTheMoreHaveRefused) {
  for (const std::uint64_t drawn : {0U, 6U, 100U}) {
    Hand hand = asking(three_sites(), 3);
    hand.hears(0, negative(3, 1));
    hand.hears(2, negative(3, 2));
    hand.hears(0, positive(3));
    hand.hears(2, positive(3));
    hand.pass(27);
    hand.release();
    hand.done();
    hand.draws(drawn);
    hand.acquire();
    hand.pass(4 + 6 + std::min<std::uint64_t>(drawn, 6) - 1);
    EXPECT_EQ(hand.done(), Words{});
    hand.pass(1);
    EXPECT_EQ(hand.done(), Words{"*request 4"});
  }
}

TEST(Mutex, SleepsForTheWorstWhereLoadJumps) {
  Rules rules = three_sites();
  rules.load_jumps = true;
  Hand hand(rules);
  hand.acquire();
  hand.pass(4 + 9 - 1);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"*request 1"});
}

// --- rules 4, 5 and 7 ---

TEST(Mutex, RefusesWhoComesLaterAndTakesItBackWhenItLeaves) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(2, request(6));
  hand.hears(0, request(4));
  EXPECT_EQ(hand.done(), Words{"2:negative 6 behind 5"});
  hand.pass(27);
  EXPECT_EQ(hand.done(), Words{"granted 5"});
  hand.release();
  EXPECT_EQ(hand.done(), Words{"2:positive 6"});
  hand.hears(2, request(6));
  EXPECT_EQ(hand.done(), Words{});
}

TEST(Mutex, OfEqualNumbersTheLowerSiteGoesFirst) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(0, request(5));
  EXPECT_EQ(hand.done(), Words{});
  hand.hears(2, request(5));
  EXPECT_EQ(hand.done(), Words{"2:negative 5 behind 5"});
}

TEST(Mutex, WhoIsInsideRefusesOldNumbersToo) {
  Hand hand = inside(three_sites(), 5);
  hand.hears(0, request(2));
  EXPECT_EQ(hand.done(), Words{"0:negative 2 behind 5"});
}

TEST(Mutex, WaitsForThoseThatRefused) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(0, negative(5, 3));
  hand.hears(2, negative(5, 4));
  hand.pass(27);
  hand.hears(0, positive(5));
  EXPECT_EQ(hand.done(), Words{});
  hand.hears(2, positive(5));
  EXPECT_EQ(hand.done(), Words{"granted 5"});
}

TEST(Mutex, ANegativeReplyThatWasOvertakenIsIgnored) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(0, positive(5));
  hand.hears(0, negative(5, 3));
  hand.pass(27);
  EXPECT_EQ(hand.done(), Words{"granted 5"});
}

TEST(Mutex, RepliesToAnotherNumberAreDropped) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(0, negative(5, 3));
  hand.hears(0, positive(4));
  hand.hears(2, negative(4, 3));
  hand.pass(27);
  EXPECT_EQ(hand.done(), Words{});
  hand.hears(0, positive(5));
  EXPECT_EQ(hand.done(), Words{"granted 5"});
}

TEST(Mutex, RepliesToAnotherLifeAreDropped) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(0, negative(5, 3));
  hand.hears(0, {.kind = Kind::positive, .number = 5, .life = Incarnation{8}});
  hand.pass(27);
  EXPECT_EQ(hand.done(), Words{});
}

TEST(Mutex, WhoNoLongerWantsItTakesItsRefusalsBack) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(2, request(6));
  hand.done();
  hand.release();
  EXPECT_EQ(hand.done(), Words{"2:positive 6"});
  hand.pass(1000);
  EXPECT_EQ(hand.done(), Words{});
}

TEST(Mutex, StrangersAndItselfAreNotHeard) {
  Hand hand = asking(three_sites(), 1);
  hand.hears(1, request(9));
  hand.hears(3, request(9));
  EXPECT_EQ(hand.site().highest(), 1U);
  EXPECT_EQ(hand.done(), Words{});
}

// --- rule 6 ---

// Refused by both, site 2 first.
Hand refused_by_two() {
  Hand hand = asking(three_sites(), 5);
  hand.hears(0, negative(5, 4));
  hand.hears(2, negative(5, 3));
  hand.pass(27);
  return hand;
}

TEST(Mutex, AsksTheFirstOfTheRefusersAgain) {
  Hand hand = refused_by_two();
  hand.pass(70);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"2:request 5"});
}

TEST(Mutex, WaitsAgainForARefuserThatLives) {
  Hand hand = refused_by_two();
  hand.pass(71 + 20);
  hand.done();
  hand.hears(2, negative(5, 3));
  hand.pass(70);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"2:request 5"});
}

TEST(Mutex, TakesSilenceOfARefuserForConsent) {
  Hand hand = refused_by_two();
  hand.pass(71 + 26);
  EXPECT_EQ(hand.done(), Words{"2:request 5"});
  hand.pass(1);                   // from here on site 0 is first
  hand.hears(2, negative(5, 3));  // too late
  hand.pass(70);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"0:request 5"});
  hand.pass(27);
  EXPECT_EQ(hand.done(), Words{"granted 5"});
}

TEST(Mutex, CountsAnewWhenAnotherIsFirst) {
  Hand hand = refused_by_two();
  hand.pass(50);
  hand.hears(2, positive(5));
  hand.pass(70);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"0:request 5"});
}

TEST(Mutex, RefusesAgainWhenAskedAgain) {
  Hand hand = inside(three_sites(), 5);
  hand.hears(2, request(6));
  hand.hears(2, request(6));
  EXPECT_EQ(hand.done(), (Words{"2:negative 6 behind 5", "2:negative 6 behind 5"}));
  hand.release();
  EXPECT_EQ(hand.done(), Words{"2:positive 6"});
}

TEST(Mutex, TheSilentSecondTimeoutDoesNotAsk) {
  Rules rules = three_sites();
  rules.variant = Variant::silent_second_timeout;
  Hand hand = asking(rules, 5);
  hand.hears(0, negative(5, 4));
  hand.pass(27 + 31);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"granted 5"});
}

// --- rule 8 ---

TEST(Mutex, AbstainsForAWindowAndLearnsTheHighestNumber) {
  Hand hand(three_sites(), Birth::again);
  EXPECT_EQ(hand.done(), Words{"*restart 0"});
  hand.acquire();
  hand.hears(0, {.kind = Kind::answer, .number = 8, .life = kLife});
  hand.hears(2, {.kind = Kind::answer, .number = 12, .life = Incarnation{8}});  // of another life
  hand.hears(2, request(6));
  hand.pass(26 + 4);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"*request 9"});
}

TEST(Mutex, ARestartIsThePositiveReplyThatTheCrashSwallowed) {
  Hand hand = refused_by_two();
  hand.hears(0, positive(5));
  hand.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(hand.done(), (Words{"2:answer 5", "granted 5"}));
}

TEST(Mutex, WhoRestartsIsOwedNothing) {
  Hand hand = inside(three_sites(), 5);
  hand.hears(2, request(6));
  hand.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  hand.done();
  hand.release();
  EXPECT_EQ(hand.done(), Words{});
}

TEST(Mutex, ARestartFreesNothingWhereAHoldMayOutliveItsSite) {
  Rules rules = three_sites();
  rules.hold_outlives = true;
  Hand hand = asking(rules, 5);
  hand.hears(2, negative(5, 3));
  hand.pass(37);
  hand.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(hand.done(), Words{"2:answer 5"});

  Hand restarted(rules, Birth::again);
  restarted.done();
  restarted.hears(0, request(3, Mode::exclusive, true));
  EXPECT_EQ(restarted.done(), Words{});
  restarted.pass(37);
  EXPECT_EQ(restarted.done(), Words{"0:positive 3"});
}

// --- readers and writers ---

TEST(Mutex, ReadersDoNotRefuseReaders) {
  Hand hand = inside(three_sites(), 5, Mode::shared);
  hand.hears(0, request(6, Mode::shared));
  EXPECT_EQ(hand.done(), Words{});
  hand.hears(2, request(7));
  EXPECT_EQ(hand.done(), Words{"2:negative 7 behind 5"});
  EXPECT_EQ(hand.site().highest(), 7U);
}

TEST(Mutex, AWriterThatWaitsRefusesLaterReaders) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(2, request(6, Mode::shared));
  EXPECT_EQ(hand.done(), Words{"2:negative 6 behind 5"});
}

// --- numbers ---

TEST(Mutex, PrintedNumbersGoRound) {
  Rules rules = three_sites();
  rules.variant = Variant::modulo;  // modulo 5
  Hand hand(rules);
  hand.hears(0, request(2));
  hand.hears(0, request(4));
  hand.acquire();
  hand.pass(4);
  EXPECT_EQ(hand.done(), Words{"*request 0"});
  hand.hears(2, request(1));  // after 0
  EXPECT_EQ(hand.done(), Words{"2:negative 1 behind 0"});
  hand.hears(0, request(4));  // before 0, which is 4 away
  EXPECT_EQ(hand.done(), Words{});
}

// Who comes back with nothing takes a number that is far behind for one that is ahead.
TEST(Mutex, PrintedNumbersCannotBeLearntAgain) {
  Rules rules = three_sites();
  rules.variant = Variant::modulo;
  Hand hand(rules);
  hand.hears(0, request(3));
  hand.acquire();
  hand.pass(4);
  EXPECT_EQ(hand.done(), Words{"*request 1"});
}

// --- the field list ---

TEST(Mutex, ListsAllItsFields) {
  Hand hand = refused_by_two();
  hand.hears(2, request(6));
  hand.pass(75);
  const Mutex& site = hand.site();
  EXPECT_EQ(unlisted_bytes(site), sizeof(void*));  // the rules
  EXPECT_EQ(unnoticed_writes(site, Instant{1s}), Words{});
  EXPECT_EQ(unnoticed_writes(mutex::Message{}, Instant{}), Words{});
}

}  // namespace
}  // namespace tempo::lock
