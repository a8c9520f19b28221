// A page from its write to its end, with numbers worked out by hand in the comments.
#include "api/page_content.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::page {
namespace {

constexpr Instant kRaw{1000s};
constexpr WallTime kWall{1'000'000s};

// A follower's page: within 20 us, and the bound widens by 1 us per second on either side.
Content page_of_follower() {
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

TEST(PageContent, IsExtrapolated) {
  const Reading reading = read(page_of_follower(), after(2s));
  EXPECT_EQ(reading.status, Status::synchronized);
  EXPECT_EQ(reading.time, kWall + 2s + 4us);                   // 2 ppm for 2 s
  EXPECT_EQ(reading.earliest, kWall + 2s + 2us - 20us - 1ns);  // rounded outwards
  EXPECT_EQ(reading.latest, kWall + 2s + 6us + 20us + 1ns);
}

TEST(PageContent, BecomesHoldoverWhenItIsNotRenewed) {
  EXPECT_EQ(read(page_of_follower(), after(3s)).status, Status::synchronized);
  const Reading reading = read(page_of_follower(), after(3s + 1ns));
  EXPECT_EQ(reading.status, Status::holdover);
  const Reading later = read(page_of_follower(), after(100s));
  EXPECT_EQ(later.status, Status::holdover);
  // 100 s of 1 ppm and 10 ppm: 1.1 ms, beside the 20 us.
  EXPECT_EQ(later.time - later.earliest, 1100us + 20us + 2ns);
  EXPECT_EQ(later.latest - later.time, 1100us + 20us + 2ns);
}

TEST(PageContent, BecomesUnsynchronizedInTheEnd) {
  EXPECT_EQ(read(page_of_follower(), after(1h)).status, Status::holdover);
  const Reading reading = read(page_of_follower(), after(1h + 1ns));
  EXPECT_EQ(reading.status, Status::unsynchronized);
  EXPECT_EQ(reading.earliest, WallTime::min());
  EXPECT_EQ(reading.latest, WallTime::max());
  EXPECT_EQ(reading.time, kWall + 1h + 1ns + 7200us);  // the clock itself continues
}

// The limit is 20 ms, and 2 ms more for a second of slewing.
TEST(PageContent, DetectsASuspend) {
  Moment moment = after(1s);
  moment.boot += 21ms;
  EXPECT_EQ(read(page_of_follower(), moment).status, Status::synchronized);
  moment.boot += 2ms;
  EXPECT_EQ(read(page_of_follower(), moment).status, Status::unsynchronized);
}

// A frequency of 500 ppm for the longest age of a page is not a suspend.
TEST(PageContent, DoesNotTakeASlewForASuspend) {
  Moment moment = after(1h);
  moment.boot += 1800ms;
  EXPECT_EQ(read(page_of_follower(), moment).status, Status::holdover);
}

// The cheap check is true whenever the exact one is, unless the clock was set.
TEST(PageContent, SuspectsASuspend) {
  const Content content = page_of_follower();
  const auto suspects = [&](Nanos age, Nanos jump) {
    return perhaps_slept(content, kRaw + age, content.real + age + jump);
  };
  EXPECT_FALSE(suspects(1s, 0ns));
  EXPECT_FALSE(suspects(1s, -10ms));  // resolution of the clock
  EXPECT_TRUE(suspects(1s, 23ms));
  EXPECT_TRUE(suspects(1s, -23ms));
}

TEST(PageContent, IsInHoldoverAtOnceWhenOrphaned) {
  const Content orphan = orphaned(page_of_follower());
  const Reading reading = read(orphan, after(1s));
  EXPECT_EQ(reading.status, Status::holdover);
  EXPECT_EQ(reading.latest - reading.time, 20us + 1us + 10us + 2ns);
}

TEST(PageContent, TimeStaysInsideTheBound) {
  Content content = page_of_follower();
  content.time.rate = 500e-6;  // slewing when the daemon died
  const Reading reading = read(content, after(10s));
  EXPECT_EQ(reading.time, reading.latest);
}

TEST(PageContent, OfAMasterIsExact) {
  Content content = page_of_follower();
  content.status = Status::leads;
  content.earliest = content.latest = content.time;
  const Reading reading = read(content, after(1s));
  EXPECT_EQ(reading.status, Status::leads);
  EXPECT_EQ(reading.latest - reading.earliest, 2ns);
}

// Another part of the network may be the main part from then on.
TEST(PageContent, LeavesTheMainPartAtItsEnd) {
  for (const Status status : {Status::synchronized, Status::leads}) {
    Content content = page_of_follower();
    content.status = status;
    content.main_until = kRaw + 2s;
    EXPECT_EQ(read(content, after(2s)).status, status);
    const Reading past = read(content, after(2s + 1ns));
    EXPECT_EQ(past.status, Status::holdover);
    // The wander of 10 ppm counts from the time of writing: 2 s of 1 ppm and 10 ppm.
    EXPECT_EQ(past.latest - past.time, 22us + 20us + 2ns);
  }
}

TEST(PageContent, KeepsItsStatusOutsideTheMainPart) {
  for (const Status status : {Status::minority, Status::alone}) {
    Content content = page_of_follower();
    content.status = status;
    content.main_until = kRaw;
    EXPECT_EQ(read(content, after(1s)).status, status);
    const Reading old = read(content, after(100s));
    EXPECT_EQ(old.status, status);
    EXPECT_EQ(old.latest - old.time, 1100us + 20us + 2ns);  // it widens as in holdover
  }
}

TEST(PageContent, HasAGeneration) {
  Content content = page_of_follower();
  content.generation = 7;
  EXPECT_EQ(read(content, after(1s)).generation, 7U);
  EXPECT_EQ(read(content, after(2h)).generation, 7U);  // unsynchronized
}

// Impossible content is unsynchronized, and nothing overflows.
TEST(PageContent, IsRejectedIfImpossible) {
  const auto status_of = [](auto corrupt) {
    Content content = page_of_follower();
    corrupt(content);
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
  EXPECT_EQ(status_of([](Content& c) { c.main_until = Instant{-1ns}; }), Status::unsynchronized);
  EXPECT_EQ(status_of([](Content& c) { c.status = static_cast<Status>(6); }),
            Status::unsynchronized);
}

// --- properties of every page that a daemon may write, read at any age ---

Nanos up_to(Nanos most) { return Nanos{*rc::gen::inRange<std::int64_t>(0, most.count())}; }
double rate() { return static_cast<double>(*rc::gen::inRange(-500'000, 500'000)) * 1e-9; }

Content any_page() {
  const Instant raw{up_to(24h * 365)};
  const WallTime wall{24h * 365 * 50 + up_to(24h * 365)};
  const double network = rate();
  return {.raw = raw,
          .boot = raw.time_since_epoch() + up_to(24h),
          .real = 0ns,
          .time = {.shows = wall, .rate = rate()},
          .earliest = {.shows = wall - up_to(1s),
                       .rate = network - static_cast<double>(*rc::gen::inRange(0, 1000)) * 1e-9},
          .latest = {.shows = wall + up_to(1s),
                     .rate = network + static_cast<double>(*rc::gen::inRange(0, 1000)) * 1e-9},
          .held_wander = static_cast<double>(*rc::gen::inRange(0, 100'000)) * 1e-9,
          .fresh = up_to(10s),
          .lasts = 10s + up_to(24h),
          .status = *rc::gen::element(Status::unsynchronized, Status::holdover,
                                      Status::synchronized, Status::leads)};
}

Moment after(const Content& content, Nanos age) {
  return {.raw = content.raw + age, .boot = content.boot + age, .real = 0ns};
}

// As a page ages, its status never improves and its bound never narrows; `earliest`, `time` and
// `latest` are in order.
RC_GTEST_PROP(PageContentProp, NeverGetsBetterWithAge, ()) {
  const Content content = any_page();
  const Nanos age = up_to(48h);
  const Nanos older = age + up_to(1h);
  const Reading first = read(content, after(content, age));
  const Reading second = read(content, after(content, older));
  RC_ASSERT(first.earliest <= first.time && first.time <= first.latest);
  RC_ASSERT(second.status <= first.status);
  if (second.status == Status::unsynchronized) return;
  RC_ASSERT(second.latest - second.earliest >= first.latest - first.earliest - 2ns);
}

// Network time that starts inside the bound and runs at any rate between those of its two ends
// stays inside it at any age; in holdover also if the rate differs by the wander.
RC_GTEST_PROP(PageContentProp, BoundContainsNetworkTime, ()) {
  Content content = any_page();
  content.status = Status::synchronized;
  const Nanos age = *rc::gen::arbitrary<bool>() ? up_to(content.lasts) : up_to(1ns + content.fresh);
  const bool held = age > content.fresh;
  const auto part = static_cast<long double>(*rc::gen::inRange(0, 1001)) / 1000;
  const auto width =
      static_cast<long double>((content.latest.shows - content.earliest.shows).count());
  const long double between =
      content.earliest.rate +
      (static_cast<long double>(content.latest.rate) - content.earliest.rate) * part;
  const long double wander =
      held ? static_cast<long double>(content.held_wander) * (2 * part - 1) : 0.0L;
  // Relative to the earliest at the time of writing, so that a long double keeps the nanoseconds.
  const long double truth =
      width * part + static_cast<long double>(age.count()) * (1 + between + wander);
  const Reading reading = read(content, after(content, age));
  RC_ASSERT(reading.status == (held ? Status::holdover : Status::synchronized));
  const auto since_earliest = [&](WallTime time) {
    return static_cast<long double>((time - content.earliest.shows).count());
  };
  RC_ASSERT(since_earliest(reading.earliest) <= truth);
  RC_ASSERT(truth <= since_earliest(reading.latest));
  RC_CLASSIFY(held);
}

}  // namespace
}  // namespace tempo::page
