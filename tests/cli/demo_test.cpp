// `tempo demo` with real daemons.
#include "program.h"

namespace tempo {
namespace {

TEST(Demo, ReplacesAKilledMaster) {
  const Ended ended = tempo("demo --seconds 14 --plain --port 15311");
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, testing::HasSubstr("all clocks agree within a millisecond"));
  EXPECT_THAT(ended.out, testing::HasSubstr("is killed"));
  EXPECT_THAT(ended.out, testing::HasSubstr("is back, as a follower"));
  EXPECT_THAT(ended.out, testing::ContainsRegex("5 machines agreed within 1 ms after [0-9.]+ s; "
                                                "machine[1-5] was killed, machine[1-5] led"));
  EXPECT_EQ(ended.err, "");
}

TEST(Demo, PrintsASummaryAsJson) {
  const Ended ended = tempo("demo --seconds 14 --json --port 15312");
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  const json summary = data_of(ended.out);
  EXPECT_EQ(summary["machines"], 5);
  EXPECT_GT(summary["agreed_after_s"], 0.0);
  EXPECT_NE(summary["killed"], summary["master"]);
  EXPECT_GT(summary["replaced_after_ms"], 0.0);
  EXPECT_LT(summary["spread_us"], 1000.0);
}

TEST(Demo, RefusesInvalidOptions) {
  const Ended few = tempo("demo --machines 2");
  EXPECT_EQ(few.status, 2);
  EXPECT_EQ(few.err, "tempo: --machines must be 3 to 9\n");
  const Ended missing = tempo("demo --tempod /nonexistent");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, testing::HasSubstr("cannot run /nonexistent;"));
}

}  // namespace
}  // namespace tempo
