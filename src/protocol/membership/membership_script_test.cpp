// Every script of testdata/ is a test: grants, views, joins, two lineages, generations.
#include <gtest/gtest.h>

#include "machine/script_test_files.h"
#include "protocol/membership/membership_test_script.h"

namespace tempo::membership {
namespace {

class MembershipScript : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(MembershipScript, GivesTheAnswersWrittenInIt) {
  expect_answers(GetParam(), sim::answered_by<ScriptedMembership>);
}

INSTANTIATE_TEST_SUITE_P(Testdata, MembershipScript,
                         ::testing::ValuesIn(scripts_in(TEMPO_TESTDATA)), script_name);

// --- views ---

View view_of(std::initializer_list<std::uint64_t> members, std::uint64_t tie_breaker) {
  View view{.lineage = 1, .number = 1, .tie_breaker = MemberId{tie_breaker}};
  for (const std::uint64_t member : members) insert(view.members, MemberId{member});
  return view;
}
bool counts(const View& view, std::initializer_list<std::uint64_t> granted) {
  return quorum(view, [&](MemberId member) {
    return std::ranges::find(granted, std::to_underlying(member)) != granted.end();
  });
}

TEST(View, HasAQuorumWithMoreThanHalfOrHalfAndTheTieBreaker) {
  EXPECT_FALSE(counts(view_of({}, 0), {}));
  EXPECT_TRUE(counts(view_of({1}, 1), {1}));
  EXPECT_TRUE(counts(view_of({1, 2}, 1), {1}));
  EXPECT_FALSE(counts(view_of({1, 2}, 1), {2}));
  EXPECT_FALSE(counts(view_of({1, 2, 3}, 1), {1}));
  EXPECT_TRUE(counts(view_of({1, 2, 3}, 1), {2, 3}));
  EXPECT_TRUE(counts(view_of({1, 2, 3, 4}, 4), {3, 4}));
  EXPECT_FALSE(counts(view_of({1, 2, 3, 4}, 4), {1, 2}));
  EXPECT_FALSE(counts(view_of({1, 2}, 1), {7, 8, 9}));  // others do not count
}

TEST(View, CountsFromTheLatestTimeOfAQuorum) {
  const auto time = [](const View& view, std::vector<int> seconds) {
    return quorum_time(view, [&](MemberId member) {
      return BootTime{1s * seconds.at(std::to_underlying(member) - 1)};
    });
  };
  EXPECT_EQ(time(view_of({1, 2, 3}, 1), {9, 5, 1}), BootTime{5s});
  EXPECT_EQ(time(view_of({1, 2}, 1), {9, 5}), BootTime{9s});
  EXPECT_EQ(time(view_of({1, 2}, 2), {9, 5}), BootTime{5s});
  EXPECT_EQ(time(view_of({1, 2, 3, 4}, 1), {2, 3, 4, 1}), BootTime{2s});
  EXPECT_EQ(time(view_of({}, 0), {}), BootTime::min());
}

// KEEP and HOLD differ by what two clocks can differ in, and by two readings.
TEST(Rules, KeepLongerThanTheyHold) {
  const Rules rules = rules_for(5s, 2e-4, 1ms);
  EXPECT_EQ(rules.keep, 5002ms);
  EXPECT_EQ(rules.hold, 4998ms);
}

}  // namespace
}  // namespace tempo::membership
