#include "protocol/election/master_rules.h"

#include <array>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::election {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Rules rules_of(std::string_view name) { return {.timing = *profile(name)}; }

// --- the values of the profiles ---

struct TimerRow {
  std::string_view name;
  Nanos Timing::* value;
  Nanos classic, lan, fast;
};
void PrintTo(const TimerRow& row, std::ostream* out) { *out << row.name; }

constexpr TimerRow kTimerTable[] = {
    {"adjtime", &Timing::adjtime, 240s, 1s, 1s},
    {"loop", &Timing::loop, 240s, 250ms, 5ms},
    {"election_min", &Timing::election_min, 360s, 2500ms, 30ms},
    {"election_max", &Timing::election_max, 900s, 5s, 50ms},
    {"startup", &Timing::startup, 3s, 500ms, 60ms},
    {"no_master", &Timing::no_master, 3s, 500ms, 60ms},
    {"candidate", &Timing::candidate, 3s, 200ms, 5ms},
    {"accept", &Timing::accept, 30s, 1s, 20ms},
    {"consistency", &Timing::consistency, 300ms, 100ms, 10ms},
    {"conflict", &Timing::conflict, 3s, 300ms, 20ms},
    {"retransmit", &Timing::retransmit, 200ms, 50ms, 4ms},
    {"delay", &Timing::delay, 1s, 50ms, 2ms},
};

class ProfileTimer : public ::testing::TestWithParam<TimerRow> {};

TEST_P(ProfileTimer, HasTheValueOfTheTable) {
  const TimerRow& row = GetParam();
  EXPECT_EQ((*profile("classic")).*row.value, row.classic);
  EXPECT_EQ((*profile("lan")).*row.value, row.lan);
  EXPECT_EQ((*profile("fast")).*row.value, row.fast);
}
INSTANTIATE_TEST_SUITE_P(Table, ProfileTimer, ::testing::ValuesIn(kTimerTable),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Profiles, SendAReliableMessageFiveTimes) {
  for (const std::string_view name : profile_names()) EXPECT_EQ(profile(name)->sends, 5U) << name;
}

// With 4.3BSD's values a Loop is as rare as a correction: no start and no election timeout spans
// several.
TEST(Profiles, RelateLoopsToOtherTimersInLanAndFastOnly) {
  for (const std::string_view name : {"lan", "fast"}) {
    EXPECT_EQ(profile(name)->loops_per_election, 5U) << name;
    EXPECT_EQ(profile(name)->loops_per_startup, 3U) << name;
  }
  EXPECT_EQ(profile("classic")->loops_per_election, 0U);
  EXPECT_EQ(profile("classic")->loops_per_startup, 0U);
}

TEST(Profiles, AreValid) {
  EXPECT_THAT(profile_names(), ElementsAre("classic", "lan", "fast"));
  for (const std::string_view name : profile_names())
    EXPECT_THAT(faults_of(rules_of(name)), IsEmpty()) << name;
}

TEST(Profiles, RepeatFourTimesByDefault) { EXPECT_EQ(Rules{}.repeats, 4U); }

TEST(Profiles, ErrorOnAnUnknownNameListsTheNames) {
  EXPECT_EQ(profile("slow").error(), "there is no profile 'slow'; choose classic, lan or fast");
  EXPECT_EQ(profile("").error(), "there is no profile ''; choose classic, lan or fast");
  EXPECT_FALSE(profile("LAN").has_value());
}

// --- relations: each case violates one of them by the smallest step beyond the limit ---

struct Relation {
  std::string_view name;
  std::string_view base;                    // a valid profile
  std::function<void(Rules&)> just_valid;   // at the limit
  std::function<void(Rules&)> just_broken;  // one step further
  std::string_view sentence;
};
void PrintTo(const Relation& relation, std::ostream* out) { *out << relation.name; }

const std::vector<Relation>& relations() {
  static const std::vector<Relation> all{
      {"NoTimerIsZero", "lan", [](Rules& r) { r.timing.consistency = 1ns; },
       [](Rules& r) { r.timing.consistency = 0ns; }, "every timer must be longer than zero"},
      {"RetransmissionIsNotZero", "lan", [](Rules& r) { r.timing.retransmit = 1ns; },
       [](Rules& r) { r.timing.retransmit = 0ns; }, "every timer must be longer than zero"},
      {"RangeIsARange", "lan", [](Rules& r) { r.timing.election_max = 2500ms; },
       [](Rules& r) { r.timing.election_max = 2500ms - 1ns; },
       "the longest election timer must not be shorter than the shortest"},
      {"AtLeastOneSend", "lan", [](Rules& r) { r.timing.sends = 1; },
       [](Rules& r) { r.timing.sends = 0; }, "sends must be 1 to 16, not 0"},
      {"AtMostSixteenSends", "lan", [](Rules& r) { r.timing.sends = 16; },
       [](Rules& r) { r.timing.sends = 17; }, "sends must be 1 to 16, not 17"},
      {"AtMostFourRepeats", "lan", [](Rules& r) { r.repeats = 4; }, [](Rules& r) { r.repeats = 5; },
       "repeats must be at most 4, not 5"},
      {"CandidateOutlastsTwoDelays", "lan", [](Rules& r) { r.timing.candidate = 100ms + 1ns; },
       [](Rules& r) { r.timing.candidate = 100ms; },
       "the candidate timer (100ms) must exceed twice the largest delay (50ms)"},
      {"HalfAcceptCoversACandidacy", "lan", [](Rules& r) { r.timing.accept = 600ms; },
       [](Rules& r) { r.timing.accept = 598ms; },
       "half the accept timer (299ms) must cover the candidate timer and two delays (300ms)"},
      {"ElectionOutlastsAccept", "lan", [](Rules& r) { r.timing.accept = 2500ms - 1ns; },
       [](Rules& r) { r.timing.accept = 2500ms; },
       "the shortest election timer (2.5s) must exceed the accept timer (2.5s)"},
      {"ElectionOutlastsTheBeacon", "classic", [](Rules& r) { r.timing.loop = 358s; },
       [](Rules& r) { r.timing.loop = r.timing.adjtime = 359s; },
       "the shortest election timer (360s) must exceed the master's beacon and a delay (360s)"},
      {"TheBeaconIsTheShorterOfTheTwo", "classic",
       [](Rules& r) {
         r.timing.loop = 400s;
         r.timing.adjtime = 359s - 1ns;
       },
       [](Rules& r) {
         r.timing.loop = 400s;
         r.timing.adjtime = 359s;
       },
       "the shortest election timer (360s) must exceed the master's beacon and a delay (360s)"},
      {"WithoutLoopAdjtimeIsTheBeacon", "lan",
       [](Rules& r) {
         r.variant.no_loop = true;
         r.timing.adjtime = 2450ms - 1ns;
       },
       [](Rules& r) {
         r.variant.no_loop = true;
         r.timing.adjtime = 2450ms;
       },
       "the shortest election timer (2.5s) must exceed the master's beacon and a delay (2.5s)"},
      {"ElectionOutlastsAConflict", "lan", [](Rules& r) { r.timing.conflict = 2450ms - 1ns; },
       [](Rules& r) { r.timing.conflict = 2450ms; },
       "the shortest election timer (2.5s) must exceed the conflict timer and a delay (2.5s)"},
      {"ElectionOutlastsFiveLoops", "lan",
       [](Rules& r) {
         r.timing.startup = r.timing.no_master = 1s;
         r.timing.loop = 500ms;
       },
       [](Rules& r) {
         r.timing.startup = r.timing.no_master = 1s;
         r.timing.loop = 501ms;
       },
       "the shortest election timer (2.5s) must outlast 5 Loops (2.505s)"},
      {"AStartOutlastsThreeLoops", "fast",
       [](Rules& r) { r.timing.startup = r.timing.no_master = 8500us; },
       [](Rules& r) {
         r.timing.startup = 8500us;
         r.timing.no_master = 8499us;
       },
       "start-up and no-master together (16.999ms) must outlast 3 Loops and a delay (17ms)"},
  };
  return all;
}

class BrokenRelation : public ::testing::TestWithParam<Relation> {};

TEST_P(BrokenRelation, IsReportedInOneSentence) {
  Rules rules = rules_of(GetParam().base);
  GetParam().just_broken(rules);
  EXPECT_THAT(faults_of(rules), ElementsAre(GetParam().sentence));
}

TEST_P(BrokenRelation, StillHoldsAtItsLimit) {
  Rules rules = rules_of(GetParam().base);
  GetParam().just_valid(rules);
  EXPECT_THAT(faults_of(rules), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(All, BrokenRelation, ::testing::ValuesIn(relations()),
                         [](const auto& row) { return std::string(row.param.name); });

// Without Loops, the relations to the Loop interval do not apply.
TEST(Relations, ConcernLoopsOnlyWhereTheyAreSent) {
  Rules rules = rules_of("lan");
  rules.timing.loop = 5s;
  EXPECT_EQ(faults_of(rules).size(), 2U);
  rules.variant.no_loop = true;
  EXPECT_THAT(faults_of(rules), IsEmpty());
}

TEST(Relations, AreReportedAllAtOnce) {
  Rules rules = rules_of("lan");
  rules.repeats = 9;
  rules.timing.sends = 0;
  rules.timing.candidate = 50ms;
  EXPECT_THAT(faults_of(rules),
              ElementsAre("sends must be 1 to 16, not 0", "repeats must be at most 4, not 9",
                          "the candidate timer (50ms) must exceed twice the largest delay (50ms)"));
}

// --- variants ---

TEST(Variants, AreParsedByName) {
  EXPECT_EQ(*parse_variant("corrected"), (Variant{}));
  EXPECT_EQ(*parse_variant("refuse-duplicate"), (Variant{.refuse_duplicate = true}));
  EXPECT_EQ(*parse_variant("no-loop"), (Variant{.no_loop = true}));
  EXPECT_EQ(*parse_variant("no-epoch"), (Variant{.no_epoch = true}));
  EXPECT_EQ(*parse_variant("conflict-kills-both"), (Variant{.conflict_kills_both = true}));
  EXPECT_EQ(*parse_variant("conflict-for-resolve"), (Variant{.conflict_for_resolve = true}));
  EXPECT_EQ(*parse_variant("no-epoch,no-loop"), (Variant{.no_loop = true, .no_epoch = true}));
  EXPECT_EQ(*parse_variant("as-printed"), (Variant{true, true, true, true}));
}

// The text of each of the thirty-two variants parses as that variant.
TEST(Variants, ParseAsWritten) {
  std::vector<std::string> texts;
  for (unsigned bits = 0; bits < 32; ++bits) {
    const Variant variant{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                          (bits & 16) != 0};
    texts.push_back(variant_text(variant));
    EXPECT_EQ(*parse_variant(texts.back()), variant) << texts.back();
  }
  EXPECT_EQ(texts.front(), "corrected");
  EXPECT_EQ(texts[0b0110], "no-loop,no-epoch");
  EXPECT_EQ(texts[0b1111], "as-printed");  // section 6 says Resolve
  EXPECT_EQ(texts[0b10010], "no-loop,conflict-for-resolve");
}

TEST(Variants, ErrorOnAnUnknownNameListsTheNames) {
  const auto sentence = [](std::string_view name) {
    return "there is no variant '" + std::string(name) +
           "'; choose corrected, as-printed, or any of refuse-duplicate, no-loop, no-epoch, "
           "conflict-kills-both, conflict-for-resolve, separated by commas";
  };
  EXPECT_EQ(parse_variant("printed").error(), sentence("printed"));
  EXPECT_EQ(parse_variant("").error(), sentence(""));
  EXPECT_EQ(parse_variant("no-loop,").error(), sentence(""));
  EXPECT_EQ(parse_variant("no-loop, no-epoch").error(), sentence(" no-epoch"));
  EXPECT_EQ(parse_variant("no-loop,corrected").error(), sentence("corrected"));
}

}  // namespace
}  // namespace tempo::election
