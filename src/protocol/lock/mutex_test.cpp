// Spirakis and Tampakas 1989, section 2, as corrected: each rule by itself, one site told by hand
// what happens.
#include "protocol/lock/mutex.h"

#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/testing/field_mutator.h"

namespace tempo::lock {
namespace {

using mutex::Birth;
using mutex::Command;
using mutex::Kind;
using mutex::Message;
using mutex::Notice;
using mutex::Number;
using mutex::Phase;
using mutex::Rules;
using mutex::Variant;

// Steps of 1 to 2 ns, delays up to 10 ns: a window of 27 steps, a patience of 71.
constexpr Bounds kBounds{.step_min = 1ns, .step_max = 2ns, .delay_min = 1ns, .delay_max = 10ns};

constexpr Incarnation kLife{9};

Rules three_sites() {
  return {.members = 3,
          .bounds = kBounds,
          .handling = {.request = 2, .reply = 1},
          .longest_hold = 5,
          .mindelay = 4,
          .delaystep = 3};
}

// Always the same draw.
class Fixed final : public Draw {
 public:
  explicit Fixed(std::uint64_t value) : value_(value) {}
  std::uint64_t below(std::uint64_t limit) override { return std::min(value_, limit - 1); }

 private:
  std::uint64_t value_;
};

// Site 1 of three, in somebody's hands. What it does is a list of words: "*request 4" to all,
// "0:positive 2" to one, "granted 4".
class Hand {
 public:
  explicit Hand(const Rules& rules, Birth birth = Birth::first, NodeId self = NodeId{1})
      : rules_(rules), site_(self, kLife, rules_, birth) {
    Turn<Mutex> turn = fresh();
    site_.start(turn);
    note();
  }

  void acquire(Mode mode = Mode::exclusive) { tell(Command::acquire(mode)); }
  void release() { tell(Command::release()); }
  void tell(const Command& command) {
    Turn<Mutex> turn = fresh();
    site_.command(turn, command);
    note();
  }
  void hears(std::uint32_t from, const Message& message) {
    Turn<Mutex> turn = fresh();
    site_.receive(turn, NodeId{from}, message);
    note();
  }
  // So much time, and whatever is due in it.
  void pass(Steps steps) {
    const Instant until = now_ + Nanos{static_cast<std::int64_t>(steps)};
    while (site_.timers().first() <= until) {
      now_ = site_.timers().first();
      Turn<Mutex> turn = fresh();
      site_.wake(turn, site_.timers().first_name());
      note();
    }
    now_ = until;
  }
  void draws(std::uint64_t value) { draw_ = Fixed(value); }

  // What it has done since this was asked last.
  std::vector<std::string> done() { return std::exchange(done_, {}); }
  const Mutex& site() const { return site_; }

 private:
  Turn<Mutex> fresh() {
    out_.clear();
    return {now_, draw_, out_};
  }
  void note() {
    EXPECT_EQ(site_.check(), nullptr);
    for (const Output<Mutex>& output : out_) {
      if (output.kind == OutputKind::notice) {
        note(output.notice);
        continue;
      }
      const Message& message = output.message;
      std::string text =
          output.kind == OutputKind::broadcast ? "*" : fmt::format("{}:", index(output.to));
      text += fmt::format("{} {}", name_of(message), message.number);
      if (message.kind == Kind::negative) text += fmt::format(" behind {}", message.ahead);
      if (message.reply) text += " reply";
      if (message.mode == Mode::shared) text += " shared";
      done_.push_back(text);
    }
  }
  void note(const Notice& notice) {
    if (notice.kind == Notice::Kind::granted)
      done_.push_back(fmt::format("granted {}", notice.number));
    if (notice.kind == Notice::Kind::distrusts) done_.emplace_back("distrusts");
    if (notice.kind == Notice::Kind::trusts) done_.emplace_back("trusts");
  }

  Rules rules_;
  Mutex site_;
  Instant now_{1s};
  Fixed draw_{0};
  Outbox<Mutex> out_;
  std::vector<std::string> done_;
};

using Words = std::vector<std::string>;

Message request(Number number, Mode mode = Mode::exclusive, bool reply = false) {
  return {.kind = Kind::request, .mode = mode, .reply = reply, .number = number};
}
Message negative(Number number, Number ahead) {
  return {.kind = Kind::negative, .number = number, .ahead = ahead, .life = kLife};
}
Message positive(Number number) {
  return {.kind = Kind::positive, .number = number, .life = kLife};
}

// Has asked, with this number.
Hand asking(const Rules& rules, Number number, Mode mode = Mode::exclusive) {
  Hand hand(rules);
  if (number > 1) hand.hears(0, request(number - 1));
  hand.acquire(mode);
  hand.pass(4);
  hand.done();
  return hand;
}
Hand inside(const Rules& rules, Number number, Mode mode = Mode::exclusive) {
  Hand hand = asking(rules, number, mode);
  hand.pass(27);
  EXPECT_EQ(hand.done(), Words{fmt::format("granted {}", number)});
  return hand;
}

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

// --- bounds and explicit replies ---

TEST(Mutex, TrustsSilenceNoMoreFromTheStepInWhichItIsTold) {
  Hand hand = asking(three_sites(), 5);
  hand.hears(2, request(9));
  hand.done();
  hand.tell(Command::no_bounds());
  EXPECT_EQ(hand.done(), (Words{"distrusts", "2:positive 9", "*request 10 reply"}));
  hand.pass(1000);
  hand.hears(0, positive(10));
  EXPECT_EQ(hand.done(), Words{});
  hand.tell(Command::bounds(kBounds));  // too late for this request
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
  hand.tell(Command::no_bounds());
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
    hand.tell(Command::bounds(wider));
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
  hand.tell(Command::bounds(tighter));
  hand.pass(26);
  EXPECT_EQ(hand.done(), Words{});
  hand.pass(1);
  EXPECT_EQ(hand.done(), Words{"granted 5"});
}

TEST(Mutex, BoundsThatCannotBeAreNotBelieved) {
  Hand hand(three_sites());
  hand.tell(Command::no_bounds());
  hand.tell(Command::bounds({.step_min = 2ns, .step_max = 1ns}));
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
