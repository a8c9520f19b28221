// The space-time diagram for terminals, compared with diagrams drawn by hand.
#include <sstream>

#include <gtest/gtest.h>

#include "base/display_text.h"
#include "lab/report/space_time.h"
#include "lab/report/space_time_test_run.h"

namespace tempo::report {
namespace {

// Three nodes: a master broadcasts, one copy is lost, the master pauses and crashes behind a
// partition.
sim::Trace small_run() {
  sim::Trace trace(true);
  RunWriter run(trace);
  for (const std::uint32_t id : {1U, 2U}) {
    run.fault(0, id, "starts");
    run.becomes(0, id, "startup");
  }
  run.becomes(1000, 1, "master");
  const std::uint32_t up = run.send(1000, 1, 0, "masterup");
  run.lose(1000, 1, 3, "masterup", up);
  run.receive(1000.25, 1, 2, "masterup", up, 1000);
  run.becomes(1000.25, 2, "slave");
  const std::uint32_t ack = run.send(1000.25, 2, 1, "ack");
  run.receive(1000.5, 2, 1, "ack", ack, 1000.25);
  run.fault(1001, 1, "pauses");
  run.fault(1001, 0, "cut");
  run.fault(1001, 0, "cut");
  const std::uint32_t far = run.send(1001.5, 3, 1, "masterreq");
  run.receive(1002, 3, 1, "masterreq", far, 1001.5);
  run.fault(1002, 1, "resumes");
  run.fault(3402, 1, "crashes");
  run.send(3402.5, 2, 3, "late");
  return trace;
}

TEST(SpaceTimeText, DrawsWithBoxCharacters) {
  const std::string expected = R"(Small

       ms         1             2             3
     0.00      starts        starts           │
              [startup]     [startup]         │
     ⋮ 1s         ⋮             ⋮             ⋮
  1000.00     [master]          │             │
                  ├──masterup───┼─────────✕   │
  1000.25         ├──masterup──▶│             │
                  │          [slave]          │
  1000.50         │◀────ack─────┤             │
  1001.00      pauses           │             │
           ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ cut ×2 ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
  1002.00         ╎◀────────────┼──masterreq──┤
               resumes          │             │
   ⋮ 2.4s         ⋮             ⋮             ⋮
  3402.00     ✕ crashes         │             │
  3402.50                       ├╌╌late╌╌╌╌   │
)";
  EXPECT_EQ(space_time_text(small_run(), {.title = "Small"}, 53, true), expected);
}

TEST(SpaceTimeText, DrawsWithAscii) {
  const std::string expected = R"(Small

       ms         1             2             3
     0.00      starts        starts           |
              [startup]     [startup]         |
     ~ 1s         ~             ~             ~
  1000.00     [master]          |             |
                  |--masterup---+---------x   |
  1000.25         |--masterup-->|             |
                  |          [slave]          |
  1000.50         |<----ack-----|             |
  1001.00      pauses           |             |
           ================= cut x2 =================
  1002.00         :<------------+--masterreq--|
               resumes          |             |
   ~ 2.4s         ~             ~             ~
  3402.00     x crashes         |             |
  3402.50                       |..late....   |
)";
  EXPECT_EQ(space_time_text(small_run(), {.title = "Small"}, 53, false), expected);
}

TEST(SpaceTimeText, BeginsAWindowWithTheCurrentStates) {
  const std::string expected = R"(Window

       ms      1        2        3
  1000.25  (master) (startu…     │
               ├─mast…─▶│        │
               │     [slave]     │
  1000.50      │◀──ack──┤        │
)";
  // The masterup was sent before the window; events after its end are not shown.
  EXPECT_EQ(space_time_text(
                small_run(),
                {.title = "Window", .from = RunWriter::at(1000.25), .to = RunWriter::at(1000.5)},
                38, true),
            expected);
}

TEST(SpaceTimeText, DrawsASimultaneousBroadcastInOneRow) {
  sim::Trace trace(true);
  RunWriter run(trace);
  const std::uint32_t up = run.send(0, 2, 0, "up");
  for (const std::uint32_t id : {1U, 3U, 4U}) run.receive(1, 2, id, "up", up, 0);
  const std::string expected = R"(T

       ms      1        2        3        4
        1      │◀──up───┼──up───▶┼───────▶│
)";
  EXPECT_EQ(space_time_text(trace, {.title = "T"}, 47, true), expected);
}

TEST(SpaceTimeText, DrawsMessagesToOneselfAndToNobody) {
  sim::Trace trace(true);
  RunWriter run(trace);
  run.send(0, 1, 0, "masterup");
  const std::uint32_t self = run.send(1, 1, 1, "tick");
  run.receive(2, 1, 1, "tick", self, 1);
  EXPECT_EQ(space_time_text(trace, {.title = "T"}, 80, true),
            "T\n\n       ms            1\n        0       masterup→*\n        2          ↺tick\n");
}

TEST(SpaceTimeText, ListsEventsIfNodesDoNotFit) {
  sim::Trace trace(true);
  RunWriter run(trace);
  const std::uint32_t hello = run.send(0, 1, 30, "hello");
  run.receive(1.5, 1, 30, "hello", hello, 0);
  run.becomes(2000, 30, "slave");
  EXPECT_EQ(space_time_text(trace, {.title = "Many"}, 80, true),
            "Many\n\n0 1->30 hello\n1.5 1->30 hello received\n⋮ 2s\n2000 30 becomes slave\n\n"
            "30 nodes do not fit side by side in 80 columns; the events are listed instead.\n");
}

TEST(SpaceTimeText, FitsTheWidth) {
  const sim::Trace trace = election_of_five();
  for (std::size_t width = 60; width < 130; width += 7) {
    for (const bool unicode : {false, true}) {
      std::istringstream lines(space_time_text(trace, {.title = "T"}, width, unicode));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(SpaceTimeText, DrawsTheFirstArrowsOnly) {
  const std::string text =
      space_time_text(election_of_five(), {.title = "T", .max_arrows = 2}, 100, true);
  EXPECT_NE(text.find("Only the first 2 of 25 messages are shown"), text.npos);
  EXPECT_EQ(text.find("1001.1"), text.npos);
}

TEST(SpaceTimeText, DrawsAnEmptyTrace) {
  EXPECT_EQ(space_time_text(sim::Trace(true), {.title = "T"}, 80, true),
            "T\n\n       ms            1\n");
}

}  // namespace
}  // namespace tempo::report
