// Spirakis and Tampakas 1989, section 2, as corrected: each rule by itself, one site told by hand
// what happens.
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
  EXPECT_EQ(rules.patience(kBounds), 32U);  // 5 + 27
}

// --- rules 1 to 3 ---

TEST(Mutex, EntersAfterSleepAndWindowIfNobodyRefuses) {
  Harness harness(three_sites());
  harness.acquire();
  harness.pass(3);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"*request 1"});
  harness.pass(26);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"granted 1"});
  harness.release();
  EXPECT_EQ(harness.done(), Words{});
  EXPECT_EQ(harness.site().phase(), Phase::idle);
}

TEST(Mutex, TakesItsNumberAfterTheSleep) {
  Harness harness(three_sites());
  harness.acquire();
  harness.pass(2);
  harness.hears(2, request(7));
  EXPECT_EQ(harness.done(), Words{});  // asleep it refuses nobody
  harness.pass(2);
  EXPECT_EQ(harness.done(), Words{"*request 8"});
}

TEST(Mutex, AsPrintedTakesItBefore) {
  Rules rules = three_sites();
  rules.variant = Variant::as_printed;
  Harness harness(rules);
  harness.acquire();
  harness.pass(2);
  harness.hears(2, request(7));
  harness.pass(2);
  EXPECT_EQ(harness.done(), Words{"*request 1"});
}

// Two refusals: from 4 + 2 * 3 to 4 + 2 * 2 * 3 steps.
TEST(Mutex, SleepsLongerTheMoreHaveRefused) {
  for (const std::uint64_t drawn : {0U, 6U, 100U}) {
    Harness harness = asking(three_sites(), 3);
    harness.hears(0, negative(3, 1));
    harness.hears(2, negative(3, 2));
    harness.hears(0, positive(3));
    harness.hears(2, positive(3));
    harness.pass(27);
    harness.release();
    harness.done();
    harness.draws(drawn);
    harness.acquire();
    harness.pass(4 + 6 + std::min<std::uint64_t>(drawn, 6) - 1);
    EXPECT_EQ(harness.done(), Words{});
    harness.pass(1);
    EXPECT_EQ(harness.done(), Words{"*request 4"});
  }
}

TEST(Mutex, SleepsForTheWorstWhereLoadJumps) {
  Rules rules = three_sites();
  rules.load_jumps = true;
  Harness harness(rules);
  harness.acquire();
  harness.pass(4 + 9 - 1);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"*request 1"});
}

// --- rules 4, 5 and 7 ---

TEST(Mutex, RefusesWhoComesLaterAndTakesItBackWhenItLeaves) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(2, request(6));
  harness.hears(0, request(4));
  EXPECT_EQ(harness.done(), Words{"2:negative 6 behind 5"});
  harness.pass(27);
  EXPECT_EQ(harness.done(), Words{"granted 5"});
  harness.release();
  EXPECT_EQ(harness.done(), Words{"2:positive 6"});
  harness.hears(2, request(6));
  EXPECT_EQ(harness.done(), Words{});
}

TEST(Mutex, OfEqualNumbersTheLowerSiteGoesFirst) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(0, request(5));
  EXPECT_EQ(harness.done(), Words{});
  harness.hears(2, request(5));
  EXPECT_EQ(harness.done(), Words{"2:negative 5 behind 5"});
}

TEST(Mutex, WhoIsInsideRefusesOldNumbersToo) {
  Harness harness = inside(three_sites(), 5);
  harness.hears(0, request(2));
  EXPECT_EQ(harness.done(), Words{"0:negative 2 behind 5"});
}

TEST(Mutex, WaitsForThoseThatRefused) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(0, negative(5, 3));
  harness.hears(2, negative(5, 4));
  harness.pass(27);
  harness.hears(0, positive(5));
  EXPECT_EQ(harness.done(), Words{});
  harness.hears(2, positive(5));
  EXPECT_EQ(harness.done(), Words{"granted 5"});
}

TEST(Mutex, ANegativeReplyThatWasOvertakenIsIgnored) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(0, positive(5));
  harness.hears(0, negative(5, 3));
  harness.pass(27);
  EXPECT_EQ(harness.done(), Words{"granted 5"});
}

TEST(Mutex, RepliesToAnotherNumberAreDropped) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(0, negative(5, 3));
  harness.hears(0, positive(4));
  harness.hears(2, negative(4, 3));
  harness.pass(27);
  EXPECT_EQ(harness.done(), Words{});
  harness.hears(0, positive(5));
  EXPECT_EQ(harness.done(), Words{"granted 5"});
}

TEST(Mutex, RepliesToAnotherLifeAreDropped) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(0, negative(5, 3));
  harness.hears(0, {.kind = Kind::positive, .number = 5, .life = Incarnation{8}});
  harness.pass(27);
  EXPECT_EQ(harness.done(), Words{});
}

TEST(Mutex, WhoNoLongerWantsItTakesItsRefusalsBack) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(2, request(6));
  harness.done();
  harness.release();
  EXPECT_EQ(harness.done(), Words{"2:positive 6"});
  harness.pass(1000);
  EXPECT_EQ(harness.done(), Words{});
}

TEST(Mutex, StrangersAndItselfAreNotHeard) {
  Harness harness = asking(three_sites(), 1);
  harness.hears(1, request(9));
  harness.hears(3, request(9));
  EXPECT_EQ(harness.site().highest(), 1U);
  EXPECT_EQ(harness.done(), Words{});
}

// --- rule 6 ---

// Refused by both, site 2 first.
Harness refused_by_two() {
  Harness harness = asking(three_sites(), 5);
  harness.hears(0, negative(5, 4));
  harness.hears(2, negative(5, 3));
  harness.pass(27);
  return harness;
}

TEST(Mutex, AsksTheFirstOfTheRefusersAgain) {
  Harness harness = refused_by_two();
  harness.pass(70);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"2:request 5"});
}

TEST(Mutex, WaitsAgainForARefuserThatLives) {
  Harness harness = refused_by_two();
  harness.pass(71 + 20);
  harness.done();
  harness.hears(2, negative(5, 3));
  harness.pass(70);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"2:request 5"});
}

TEST(Mutex, TakesSilenceOfARefuserForConsent) {
  Harness harness = refused_by_two();
  harness.pass(71 + 26);
  EXPECT_EQ(harness.done(), Words{"2:request 5"});
  harness.pass(1);                   // from here on site 0 is first
  harness.hears(2, negative(5, 3));  // too late
  harness.pass(70);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"0:request 5"});
  harness.pass(27);
  EXPECT_EQ(harness.done(), Words{"granted 5"});
}

TEST(Mutex, CountsAnewWhenAnotherIsFirst) {
  Harness harness = refused_by_two();
  harness.pass(50);
  harness.hears(2, positive(5));
  harness.pass(70);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"0:request 5"});
}

TEST(Mutex, RefusesAgainWhenAskedAgain) {
  Harness harness = inside(three_sites(), 5);
  harness.hears(2, request(6));
  harness.hears(2, request(6));
  EXPECT_EQ(harness.done(), (Words{"2:negative 6 behind 5", "2:negative 6 behind 5"}));
  harness.release();
  EXPECT_EQ(harness.done(), Words{"2:positive 6"});
}

TEST(Mutex, TheSilentSecondTimeoutDoesNotAsk) {
  Rules rules = three_sites();
  rules.variant = Variant::silent_second_timeout;
  Harness harness = asking(rules, 5);
  harness.hears(0, negative(5, 4));
  harness.pass(27 + 31);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"granted 5"});
}

// --- rule 8 ---

TEST(Mutex, AbstainsForAWindowAndLearnsTheHighestNumber) {
  Harness harness(three_sites(), Birth::again);
  EXPECT_EQ(harness.done(), Words{"*restart 0"});
  harness.acquire();
  harness.hears(0, {.kind = Kind::answer, .number = 8, .life = kLife});
  harness.hears(2,
                {.kind = Kind::answer, .number = 12, .life = Incarnation{8}});  // of another life
  harness.hears(2, request(6));
  harness.pass(26 + 4);
  EXPECT_EQ(harness.done(), Words{});
  harness.pass(1);
  EXPECT_EQ(harness.done(), Words{"*request 9"});
}

TEST(Mutex, ARestartIsThePositiveReplyThatTheCrashSwallowed) {
  Harness harness = refused_by_two();
  harness.hears(0, positive(5));
  harness.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(harness.done(), (Words{"2:answer 5", "granted 5"}));
}

TEST(Mutex, WhoRestartsIsOwedNothing) {
  Harness harness = inside(three_sites(), 5);
  harness.hears(2, request(6));
  harness.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  harness.done();
  harness.release();
  EXPECT_EQ(harness.done(), Words{});
}

TEST(Mutex, ARestartFreesNothingWhereAHoldMayOutliveItsSite) {
  Rules rules = three_sites();
  rules.hold_outlives = true;
  Harness harness = asking(rules, 5);
  harness.hears(2, negative(5, 3));
  harness.pass(37);
  harness.hears(2, {.kind = Kind::restart, .life = Incarnation{4}});
  EXPECT_EQ(harness.done(), Words{"2:answer 5"});

  Harness restarted(rules, Birth::again);
  restarted.done();
  restarted.hears(0, request(3, Mode::exclusive, true));
  EXPECT_EQ(restarted.done(), Words{});
  restarted.pass(37);
  EXPECT_EQ(restarted.done(), Words{"0:positive 3"});
}

// --- readers and writers ---

TEST(Mutex, ReadersDoNotRefuseReaders) {
  Harness harness = inside(three_sites(), 5, Mode::shared);
  harness.hears(0, request(6, Mode::shared));
  EXPECT_EQ(harness.done(), Words{});
  harness.hears(2, request(7));
  EXPECT_EQ(harness.done(), Words{"2:negative 7 behind 5"});
  EXPECT_EQ(harness.site().highest(), 7U);
}

TEST(Mutex, AWriterThatWaitsRefusesLaterReaders) {
  Harness harness = asking(three_sites(), 5);
  harness.hears(2, request(6, Mode::shared));
  EXPECT_EQ(harness.done(), Words{"2:negative 6 behind 5"});
}

// --- numbers ---

TEST(Mutex, PrintedNumbersGoRound) {
  Rules rules = three_sites();
  rules.variant = Variant::modulo;  // modulo 5
  Harness harness(rules);
  harness.hears(0, request(2));
  harness.hears(0, request(4));
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.done(), Words{"*request 0"});
  harness.hears(2, request(1));  // after 0
  EXPECT_EQ(harness.done(), Words{"2:negative 1 behind 0"});
  harness.hears(0, request(4));  // before 0, which is 4 away
  EXPECT_EQ(harness.done(), Words{});
}

// Who comes back with nothing takes a number that is far behind for one that is ahead.
TEST(Mutex, PrintedNumbersCannotBeLearntAgain) {
  Rules rules = three_sites();
  rules.variant = Variant::modulo;
  Harness harness(rules);
  harness.hears(0, request(3));
  harness.acquire();
  harness.pass(4);
  EXPECT_EQ(harness.done(), Words{"*request 1"});
}

// --- the field list ---

TEST(Mutex, ListsAllItsFields) {
  Harness harness = refused_by_two();
  harness.hears(2, request(6));
  harness.pass(75);
  const Mutex& site = harness.site();
  EXPECT_EQ(unlisted_bytes(site), sizeof(void*));  // the rules
  EXPECT_EQ(unnoticed_writes(site, Instant{1s}), Words{});
  EXPECT_EQ(unnoticed_writes(mutex::Message{}, Instant{}), Words{});
}

}  // namespace
}  // namespace tempo::lock
