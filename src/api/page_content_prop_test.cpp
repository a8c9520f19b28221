// Properties of every page that a daemon may write, read at any age.
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/page_content.h"

namespace tempo::page {
namespace {

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
