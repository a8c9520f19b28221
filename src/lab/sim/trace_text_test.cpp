#include "lab/sim/trace_text.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::sim {
namespace {

using testing::ElementsAre;

constexpr std::string_view kRun =
    "1 1->* masterreq\n"
    "1.5 1->* masterreq\n"
    "2 1->2 masterreq received\n"
    "2 1->3 masterreq lost\n"
    "2.25 2->1 masterack\n"
    "2.5 1->2 masterreq received\n"
    "3 2->1 masterack received\n"
    "3 1 becomes slave\n"
    "4 2 crashes\n"
    "5 network: whole\n";

TEST(ReadTrace, RestoresTheWrittenTrace) {
  const auto read = read_trace(kRun);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(text(read->trace, true), kRun);
  EXPECT_EQ(read->nodes, 3U);
  EXPECT_THAT(read->names, ElementsAre("1", "2", "3"));
  EXPECT_THAT(read->states, ElementsAre("slave", "down", ""));
  EXPECT_FALSE(read->one_sided);
}

TEST(ReadTrace, MatchesReceptionsWithTransmissions) {
  const auto read = read_trace(kRun);
  ASSERT_TRUE(read);
  const std::vector<Happening>& all = read->trace.happenings();
  EXPECT_EQ(all[2].number, all[0].number);
  EXPECT_EQ(all[2].sent, Instant{1ms});
  EXPECT_EQ(all[3].number,
            all[0].number);  // another receiver loses a copy of the same transmission
  EXPECT_EQ(
      all[5].number,
      all[1].number);  // a second reception by the same receiver belongs to the next transmission
  EXPECT_EQ(all[5].sent, Instant{1500us});
  EXPECT_EQ(all[6].number, all[4].number);
  EXPECT_EQ(all[6].sent, Instant{2250us});
}

TEST(ReadTrace, AcceptsTheTraceOfOneHost) {
  const auto read = read_trace(
      "# 1 is bow\n"
      "# a remark\n"
      "\n"
      "10 1 becomes slave\n"
      "# 2 is stern castle\n"
      "10.125 2->1 loop received\r\n"
      "11 1->2 ack\n");
  ASSERT_TRUE(read) << read.error();
  EXPECT_TRUE(read->one_sided);
  EXPECT_THAT(read->names, ElementsAre("bow", "stern castle"));
  EXPECT_EQ(read->trace.happenings()[1].sent, Instant{10125us});
  EXPECT_NE(read->trace.happenings()[1].number, read->trace.happenings()[2].number);
}

TEST(ReadTrace, KeepsItsLabelsWhenItMoves) {
  auto read = read_trace("1 1 becomes m\n");
  ASSERT_TRUE(read);
  const ReadTrace moved = std::move(*read);
  EXPECT_EQ(moved.trace.happenings()[0].label, "m");
}

TEST(ReadTrace, NamesTheLineThatItCannotParse) {
  const auto why = [](std::string_view text) {
    const auto read = read_trace(text);
    return read ? std::string("understood") : read.error();
  };
  EXPECT_EQ(why("1 1->* a\nnonsense\n"), "line 2 is not a line of a trace: 'nonsense'");
  for (const char* line :
       {"x 1 becomes a", "1", "1 1", "1 0 becomes a", "1 10001 becomes a", "1 *->1 a", "1 1->x a",
        "1 1->* a received", "1 1->2 a vanished", "1 1->2", "1 * becomes a", "-1 1 becomes a",
        "1 1 becomes ", "1 4294967297 becomes a", "0.1234567 1 becomes a"})
    EXPECT_EQ(why(line), std::string("line 1 is not a line of a trace: '") + line + "'");
  EXPECT_EQ(why("2 1 becomes a\n1 1 becomes b\n"),
            "line 2 is not a line of a trace: '1 1 becomes b'")
      << "time does not go back";
  EXPECT_EQ(why(""), "understood");
}

TEST(LooksLikeTrace, DecidesByTheFirstLine) {
  EXPECT_TRUE(looks_like_trace("# 1 is bow\n\n0.5 1 becomes slave\n"));
  EXPECT_FALSE(looks_like_trace("# conservative is broken\nnodes 3\n"));
  EXPECT_FALSE(looks_like_trace("# nothing\n"));
  EXPECT_FALSE(looks_like_trace(""));
}

}  // namespace
}  // namespace tempo::sim
