// A page from its writing to its end, by hand: every number is worked out in the comment beside it.
#include "api/page_content.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tempo::page {
namespace {

constexpr Instant kRaw{1000s};
constexpr WallTime kWall{1'000'000s};

// A slave's page: within 20 us, the bound opening by 1 us a second on either side.
Content page_of_slave() {
  return {.raw = kRaw,
          .boot = 2000s,
          .real = 3000s,
          .time = {.shows = kWall, .rate = 2e-6},
          .earliest = {.shows = kWall - 20us, .rate = 1e-6},
          .latest = {.shows = kWall + 20us, .rate = 3e-6},
          .held_wander = 10e-6,
          .fresh = 3s,
          .lasts = 1h,
          .status = Status::synchronized};
}

Moment after(Nanos age) { return {.raw = kRaw + age, .boot = 2000s + age, .real = 3000s + age}; }

TEST(PageContent, IsCarriedOn) {
  const Reading reading = read(page_of_slave(), after(2s));
  EXPECT_EQ(reading.status, Status::synchronized);
  EXPECT_EQ(reading.time, kWall + 2s + 4us);                   // 2 ppm for 2 s
  EXPECT_EQ(reading.earliest, kWall + 2s + 2us - 20us - 1ns);  // rounded outwards
  EXPECT_EQ(reading.latest, kWall + 2s + 6us + 20us + 1ns);
}

TEST(PageContent, BecomesHoldoverWhenItIsNotRenewed) {
  EXPECT_EQ(read(page_of_slave(), after(3s)).status, Status::synchronized);
  const Reading reading = read(page_of_slave(), after(3s + 1ns));
  EXPECT_EQ(reading.status, Status::holdover);
  const Reading later = read(page_of_slave(), after(100s));
  EXPECT_EQ(later.status, Status::holdover);
  // 100 s of 1 ppm and 10 ppm: 1.1 ms, beside the 20 us.
  EXPECT_EQ(later.time - later.earliest, 1100us + 20us + 2ns);
  EXPECT_EQ(later.latest - later.time, 1100us + 20us + 2ns);
}

TEST(PageContent, SaysNothingInTheEnd) {
  EXPECT_EQ(read(page_of_slave(), after(1h)).status, Status::holdover);
  const Reading reading = read(page_of_slave(), after(1h + 1ns));
  EXPECT_EQ(reading.status, Status::unsynchronized);
  EXPECT_EQ(reading.earliest, WallTime::min());
  EXPECT_EQ(reading.latest, WallTime::max());
  EXPECT_EQ(reading.time, kWall + 1h + 1ns + 7200us);  // the clock itself goes on
}

// 20 ms, and 2 ms more for a second in which it may have been slewed.
TEST(PageContent, KnowsThatTheMachineSlept) {
  Moment moment = after(1s);
  moment.boot += 21ms;
  EXPECT_EQ(read(page_of_slave(), moment).status, Status::synchronized);
  moment.boot += 2ms;
  EXPECT_EQ(read(page_of_slave(), moment).status, Status::unsynchronized);
}

// 500 ppm of frequency, for as long as a page lasts, is no sleep.
TEST(PageContent, TakesNoSlewForASleep) {
  Moment moment = after(1h);
  moment.boot += 1800ms;
  EXPECT_EQ(read(page_of_slave(), moment).status, Status::holdover);
}

// The cheap question says yes whenever the dear one would, as long as nobody sets the clock.
TEST(PageContent, AsksWhetherTheMachineSlept) {
  const Content content = page_of_slave();
  const auto asks = [&](Nanos age, Nanos jump) {
    return perhaps_slept(content, kRaw + age, content.real + age + jump);
  };
  EXPECT_FALSE(asks(1s, 0ns));
  EXPECT_FALSE(asks(1s, -10ms));  // as coarse as the clock is
  EXPECT_TRUE(asks(1s, 23ms));
  EXPECT_TRUE(asks(1s, -23ms));
}

TEST(PageContent, ThatIsOrphanedIsHoldoverAtOnce) {
  const Content orphan = orphaned(page_of_slave());
  const Reading reading = read(orphan, after(1s));
  EXPECT_EQ(reading.status, Status::holdover);
  EXPECT_EQ(reading.latest - reading.time, 20us + 1us + 10us + 2ns);
}

TEST(PageContent, TimeStaysInsideTheBound) {
  Content content = page_of_slave();
  content.time.rate = 500e-6;  // making up a difference, when the daemon died
  const Reading reading = read(content, after(10s));
  EXPECT_EQ(reading.time, reading.latest);
}

TEST(PageContent, OfAMasterIsExact) {
  Content content = page_of_slave();
  content.status = Status::leads;
  content.earliest = content.latest = content.time;
  const Reading reading = read(content, after(1s));
  EXPECT_EQ(reading.status, Status::leads);
  EXPECT_EQ(reading.latest - reading.earliest, 2ns);
}

// Whatever else stands there, it is not believed and nothing overflows.
TEST(PageContent, ThatCannotBeIsNotBelieved) {
  const auto status_of = [](auto spoil) {
    Content content = page_of_slave();
    spoil(content);
    return read(content, after(1s)).status;
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(status_of([](Content&) {}), Status::synchronized);
  EXPECT_EQ(status_of([](Content& c) { c.raw = Instant::max(); }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.raw = Instant::min(); }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.boot = Nanos::min(); }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.time.rate = kNaN; }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.latest.rate = 1e300; }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.earliest.shows = WallTime::min(); }),
            Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.latest.shows = WallTime::max(); }),
            Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.latest.shows = c.earliest.shows - 1ms; }),
            Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.held_wander = kNaN; }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.lasts = Nanos::max(); }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.fresh = -1ns; }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.status = static_cast<Status>(7); }),
            Status::unsynchronized);
}

}  // namespace
}  // namespace tempo::page
