#include "protocol/sync/main_part.h"

#include <gtest/gtest.h>

namespace tempo::node {
namespace {

using Status = Reading::Status;

constexpr WallTime kTime{1000s};

Reading reading_of(Status status, Nanos bound) {
  return {.time = kTime, .earliest = kTime - bound, .latest = kTime + bound, .status = status};
}
Instant at(Nanos time) { return Instant{} + time; }

MainPartClock in_main_part_until(Nanos until, Nanos bound) {
  MainPartClock clock;
  clock.update(at(1s), {.until = at(until), .here = true, .others = true}, bound);
  return clock;
}

TEST(MainPartClock, LeavesAReadingAsItIsWithoutAMembership) {
  const MainPartClock clock;
  EXPECT_EQ(clock.judged(at(1h), reading_of(Status::leads, 5ns), Nanos::max()).status,
            Status::leads);
  EXPECT_EQ(clock.doubt(at(1h)), 0ns);
}

TEST(MainPartClock, KnowsNoNetworkTimeBeforeTheFirstMainPart) {
  MainPartClock clock;
  clock.update(at(1s), {.until = kNeverMain, .here = false, .others = true}, 5ns);
  const Reading reading = clock.judged(at(2s), reading_of(Status::leads, 5ns), Nanos::max());
  EXPECT_EQ(reading.status, Status::unsynchronized);
  EXPECT_EQ(reading.earliest, WallTime::min());
  EXPECT_EQ(clock.judged(at(2s), reading_of(Status::alone, 5ns), Nanos::max()).status,
            Status::alone);
}

// 20 ppm since ten seconds before the end, and twice the bound before it.
TEST(MainPartClock, WidensTheBoundAfterTheEndOfTheMainPart) {
  const MainPartClock clock = in_main_part_until(6s, 300ns);
  EXPECT_EQ(clock.judged(at(6s) - 1ns, reading_of(Status::leads, 0ns), Nanos::max()).status,
            Status::leads);
  const Reading held = clock.judged(at(6s), reading_of(Status::leads, 7ns), Nanos::max());
  EXPECT_EQ(held.status, Status::holdover);
  EXPECT_EQ(held.bound(), 7ns + 600ns + 200us);
  const Reading later = clock.judged(at(106s), reading_of(Status::leads, 7ns), Nanos::max());
  EXPECT_EQ(later.status, Status::minority);
  EXPECT_EQ(later.bound(), 7ns + 600ns + 2200us);
}

// The master of a minority states its own doubt: its followers add what they have not heard of.
TEST(MainPartClock, CountsTheTimeSinceTheMasterWasHeard) {
  const MainPartClock clock = in_main_part_until(6s, 0ns);
  EXPECT_EQ(clock.doubt(at(1006s), 2s), 240us);
}

TEST(MainPartClock, KeepsTheBoundOfTheMainPartOnly) {
  MainPartClock clock = in_main_part_until(6s, 300ns);
  clock.update(at(7s), {.until = at(6s), .here = false, .others = true}, 9s);
  EXPECT_EQ(clock.doubt(at(6s)), 600ns + 200us);
}

}  // namespace
}  // namespace tempo::node
