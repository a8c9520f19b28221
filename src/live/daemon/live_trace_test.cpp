#include "live/daemon/live_trace.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using testing::ElementsAre;

constexpr Instant kStart{100s};

std::vector<std::string> lines(const LiveTrace& trace, std::uint64_t since = 0) {
  std::vector<std::string> all;
  trace.since(since, [&](const std::string& line) { all.push_back(line); });
  return all;
}

TEST(LiveTrace, WritesWhatTheSimulatorWrites) {
  LiveTrace trace(kStart);
  trace.follow(true);
  trace.name(NodeId{700}, "ship");
  trace.sent(kStart + 1500us, NodeId{700}, kNobody, "masterreq");
  trace.name(NodeId{30}, "shore");
  trace.received(kStart + 2ms, NodeId{30}, NodeId{700}, "masterack");
  trace.becomes(kStart + 2ms, NodeId{700}, "consistency");
  EXPECT_THAT(lines(trace),
              ElementsAre("# 1 is ship", "1.500 1->* masterreq", "# 2 is shore",
                          "2.000 2->1 masterack received", "2.000 1 becomes consistency"));
}

TEST(LiveTrace, KeepsNothingWhileNobodyFollows) {
  LiveTrace trace(kStart);
  trace.sent(kStart, NodeId{1}, kNobody, "loop");
  trace.name(NodeId{1}, "ship");
  EXPECT_EQ(trace.so_far(), 0U);
  trace.follow(true);
  trace.name(NodeId{1}, "ship");
  trace.name(NodeId{1}, "ship");
  EXPECT_THAT(lines(trace), ElementsAre("# 1 is ship"));
}

TEST(LiveTrace, KeepsTheNewest) {
  LiveTrace trace(kStart);
  trace.follow(true);
  for (std::size_t i = 0; i < LiveTrace::kMost + 10; ++i)
    trace.becomes(kStart, NodeId{1}, std::to_string(i));
  EXPECT_EQ(trace.so_far(), LiveTrace::kMost + 10);
  EXPECT_EQ(lines(trace).size(), LiveTrace::kMost);
  EXPECT_EQ(lines(trace).back(), "0.000 1 becomes " + std::to_string(LiveTrace::kMost + 9));
  EXPECT_EQ(lines(trace, LiveTrace::kMost + 9).size(), 1U);
}

}  // namespace
}  // namespace tempo::daemon
