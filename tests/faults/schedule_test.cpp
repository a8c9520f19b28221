// Schedules of faults depend on the seed alone, contain valid faults and end in time.
#include "schedule.h"

#include <array>
#include <bit>
#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace tempo::faults {
namespace {

constexpr Shape kShape{.lease = 400ms};

TEST(Schedule, DependsOnTheSeedAlone) {
  EXPECT_EQ(schedule_of(7, kShape), schedule_of(7, kShape));
  EXPECT_NE(schedule_of(7, kShape), schedule_of(8, kShape));
}

TEST(Schedule, ContainsValidFaultsAndEndsInTime) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Schedule schedule = schedule_of(seed, kShape);
    ASSERT_GE(schedule.faults.size(), 4) << seed;
    Nanos before{0};
    for (const Fault& fault : schedule.faults) {
      SCOPED_TRACE(text_of(fault));
      EXPECT_GE(fault.begin, before);
      EXPECT_GT(fault.end, fault.begin);
      EXPECT_LE(fault.end, schedule.length);
      EXPECT_LT(fault.hosts, 1U << kShape.hosts);
      EXPECT_LT(fault.client, kShape.clients);
      EXPECT_LE(fault.percent, 60);
      if (fault.kind == Fault::Kind::partition) {
        EXPECT_GT(std::popcount(fault.hosts), 0);
        EXPECT_LT(std::popcount(fault.hosts), 5) << "a partition has two sides";
      }
      before = fault.begin;
    }
  }
}

// 200 seeds draw every kind of fault, and faults that overlap.
TEST(Schedule, DrawsEveryKindAndOverlaps) {
  std::array<int, std::to_underlying(Fault::Kind::count)> times{};
  int overlaps = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Schedule schedule = schedule_of(seed, kShape);
    for (std::size_t i = 0; i < schedule.faults.size(); ++i) {
      ++times[std::to_underlying(schedule.faults[i].kind)];
      overlaps += i > 0 && schedule.faults[i].begin < schedule.faults[i - 1].end ? 1 : 0;
    }
  }
  for (const int count : times) EXPECT_GT(count, 50);
  EXPECT_GT(overlaps, 200);
}

TEST(Schedule, HasReadableText) {
  EXPECT_EQ(
      text_of(Fault{.kind = Fault::Kind::partition, .begin = 20ms, .end = 1s, .hosts = 0b10010}),
      "20ms..1s host 1, host 4 are cut off");
  EXPECT_EQ(text_of(Fault{.kind = Fault::Kind::loss, .begin = 0ms, .end = 50ms, .percent = 30}),
            "0s..50ms the network loses datagrams, 30 %");
  EXPECT_EQ(text_of(Fault{.kind = Fault::Kind::stop_client, .begin = 1ms, .end = 2ms, .client = 3}),
            "1ms..2ms client 3 is stopped");
}

}  // namespace
}  // namespace tempo::faults
