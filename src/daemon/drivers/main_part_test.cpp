// The status and the bounds of a reading, from the standing of its machine in the main part.
#include "daemon/drivers/main_part.h"

#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using Status = node::Reading::Status;

constexpr BootTime kNow{1000s};
constexpr WallTime kWall{500s};
constexpr Nanos kForget = 1h;

node::Reading reading(Status status) {
  return {.time = kWall, .earliest = kWall - 1us, .latest = kWall + 1us, .status = status};
}
node::Reading judged_at(Status status, const Standing& standing) {
  return judged(reading(status), standing, kForget);
}

TEST(Judged, KeepsAReadingInTheMainPart) {
  for (const Status status : {Status::synchronized, Status::leads, Status::holdover}) {
    const auto now = judged_at(status, {.now = kNow, .main_until = kNow + 1ns});
    EXPECT_EQ(now.status, status);
    EXPECT_EQ(now.bound(), 1us);
  }
}

// 21 ppm of the time since V: 10 ppm for each of two parts, and 1 ppm of slew.
TEST(Judged, GrowsFromTheEndOfTheMainPart) {
  for (const Status status : {Status::synchronized, Status::leads, Status::holdover}) {
    const auto at_once = judged_at(status, {.now = kNow, .main_until = kNow});
    EXPECT_EQ(at_once.status, Status::holdover);
    EXPECT_EQ(at_once.bound(), 1us + 1ns);
    const auto ten = judged_at(status, {.now = kNow, .main_until = kNow - 10s});
    EXPECT_EQ(ten.status, Status::holdover);
    EXPECT_EQ(ten.bound(), 1us + 210us + 1ns);
    const auto later = judged_at(status, {.now = kNow, .main_until = kNow - 11s});
    EXPECT_EQ(later.status, Status::minority);
  }
}

// The main part may have forgotten this machine by then, and no longer asks it before a fast slew.
TEST(Judged, GrowsFasterWhenItMayBeForgotten) {
  const auto hour = judged_at(Status::leads, {.now = kNow + 1h, .main_until = kNow});
  EXPECT_EQ(hour.bound(), 1us + 75'600us + 1ns);  // 21 ppm of an hour: 76 ms
  const auto day = judged_at(Status::leads, {.now = kNow + 24h, .main_until = kNow});
  // 20 ppm of a day, 1 ppm of an hour, 100 ppm of 23 hours: 10 s.
  EXPECT_EQ(day.bound(), 1us + 1728ms + 3600us + 8280ms + 1ns);
}

TEST(Judged, IsUnsynchronizedBeforeTheFirstMainPart) {
  const auto now = judged_at(Status::synchronized, {.now = kNow});
  EXPECT_EQ(now.status, Status::unsynchronized);
  EXPECT_EQ(now.earliest, WallTime::min());
  EXPECT_EQ(now.latest, WallTime::max());
  EXPECT_EQ(now.time, kWall);
}

// A machine without a record of others is alone; one with such a record is cut off.
TEST(Judged, IsAloneOnlyWithoutOthersInItsView) {
  EXPECT_EQ(judged_at(Status::alone, {.now = kNow}).status, Status::alone);
  EXPECT_EQ(judged_at(Status::alone, {.now = kNow, .main_until = kNow + 1s}).status, Status::alone);
  EXPECT_EQ(judged_at(Status::alone, {.now = kNow, .in_view_with_others = true}).status,
            Status::unsynchronized);
  // The tie-breaker of two is the main part by itself.
  EXPECT_EQ(
      judged_at(Status::alone, {.now = kNow, .main_until = kNow + 1s, .in_view_with_others = true})
          .status,
      Status::leads);
}

// Back in the main part, the bound stays wide until the clock has followed the main master.
TEST(Judged, StaysWideUntilTheClockHasCaughtUp) {
  const auto now =
      judged_at(Status::synchronized, {.now = kNow, .main_until = kNow + 4s, .gap = 100s});
  EXPECT_EQ(now.status, Status::minority);
  EXPECT_EQ(now.bound(), 1us + 2100us + 1ns);
}

TEST(Judged, DoesNotImproveAnUnsynchronizedReading) {
  const auto now = judged_at(Status::unsynchronized, {.now = kNow, .main_until = kNow + 4s});
  EXPECT_EQ(now.status, Status::unsynchronized);
}

// --- datagrams ---

membership::View some_view(std::uint64_t number) {
  membership::View view{.lineage = 5, .number = number, .tie_breaker = membership::MemberId{2}};
  for (const std::uint64_t member : {1ULL, 2ULL})
    insert(view.members, membership::MemberId{member});
  return view;
}

TEST(MembershipBody, SaysWhatTheMessageSays) {
  const membership::Ballot ballot{.round = 3, .master = membership::MemberId{2}};
  const membership::Ask ask{.number = Sequence{1},
                            .self = membership::MemberId{7},
                            .wish = membership::Wish::leaves,
                            .ballot = ballot,
                            .granted = Sequence{9},
                            .promised = ballot,
                            .view = some_view(4),
                            .accepted_in = ballot,
                            .accepted = some_view(5)};
  const membership::Beacon beacon{.number = Sequence{2},
                                  .asked = Sequence{1},
                                  .ballot = ballot,
                                  .main_for = 4s,
                                  .urgent = true,
                                  .view = some_view(4),
                                  .proposes = true,
                                  .proposal = some_view(5)};
  for (const membership::Message& message :
       {membership::Message{ask}, membership::Message{beacon},
        membership::Message{membership::Release{ballot}}}) {
    const membership::Message again = message_of(body_of(message));
    EXPECT_EQ(again.index(), message.index());
    const auto text = [](const membership::Message& one) {
      return std::visit([](const auto& body) { return printed(body, kNow); }, one);
    };
    EXPECT_EQ(text(again), text(message));
  }
}

}  // namespace
}  // namespace tempo::daemon
