#include "daemon/drivers/live_trace.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kTraceStart{100s};
const LiveTrace::Peer kShip{.node = NodeId{700}, .name = "ship"};
const LiveTrace::Peer kShore{.node = NodeId{30}, .name = "shore"};

std::vector<std::string> lines(const LiveTrace& trace, std::uint64_t since = 0) {
  std::vector<std::string> all;
  trace.since(since, [&](const std::string& line) { all.push_back(line); });
  return all;
}

TEST(LiveTrace, HasTheFormatOfTheSimulator) {
  LiveTrace trace(kTraceStart, kShip);
  EXPECT_THAT(trace.names(), ElementsAre("# 1 is ship"));
  trace.keep(kTraceStart, true);
  trace.sent(kTraceStart + 1500us, {}, "masterreq");
  trace.received(kTraceStart + 2ms, kShore, "masterack");
  trace.becomes(kTraceStart + 2ms, "consistency");
  trace.sent(kTraceStart + 2000us + 999ns, kShore, "ack");
  EXPECT_THAT(lines(trace),
              ElementsAre("1.5 1->* masterreq", "# 2 is shore", "2 2->1 masterack received",
                          "2 1 becomes consistency", "2 1->2 ack"));
  EXPECT_THAT(trace.names(), ElementsAre("# 1 is ship", "# 2 is shore"));
}

TEST(LiveTrace, KeepsNothingWhileOff) {
  LiveTrace trace(kTraceStart, kShip);
  trace.sent(kTraceStart, {}, "loop");
  trace.becomes(kTraceStart, "slave");
  EXPECT_EQ(trace.so_far(), 0U);
  trace.keep(kTraceStart, true);
  trace.follow(kTraceStart);
  trace.keep(kTraceStart, false);
  EXPECT_TRUE(trace.on()) << "a client follows";
  trace.unfollow();
  EXPECT_FALSE(trace.on());
}

TEST(LiveTrace, StartsWithTheCurrentState) {
  LiveTrace trace(kTraceStart, kShip);
  trace.becomes(kTraceStart, "slave");
  trace.follow(kTraceStart + 5ms);
  trace.sent(kTraceStart + 6ms, kShore, "accept");
  EXPECT_THAT(lines(trace), ElementsAre("5 1 becomes slave", "# 2 is shore", "6 1->2 accept"));
  trace.unfollow();
  trace.follow(kTraceStart + 7ms);
  EXPECT_THAT(lines(trace), ElementsAre("7 1 becomes slave"));
}

TEST(LiveTrace, KeepsTheNewestLines) {
  LiveTrace trace(kTraceStart, kShip);
  EXPECT_THAT(lines(trace), IsEmpty());
  trace.keep(kTraceStart, true);
  for (std::size_t i = 0; i < LiveTrace::kMaxLines + 10; ++i)
    trace.becomes(kTraceStart, std::to_string(i));
  EXPECT_EQ(trace.so_far(), LiveTrace::kMaxLines + 10);
  EXPECT_EQ(lines(trace).size(), LiveTrace::kMaxLines);
  EXPECT_EQ(lines(trace).back(), "0 1 becomes " + std::to_string(LiveTrace::kMaxLines + 9));
  EXPECT_EQ(lines(trace, LiveTrace::kMaxLines + 9).size(), 1U);
}

}  // namespace
}  // namespace tempo::daemon
