#include "protocol/clock/average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Average, OfNobodyIsNothing) {
  EXPECT_EQ(average_of_agreeing({}, 20ms).mean, 0ns);
  EXPECT_THAT(average_of_agreeing({}, 20ms).used, IsEmpty());
}

TEST(Average, OfAllWhoAgree) {
  const std::vector<Nanos> offsets{0ms, 5ms, -2ms};
  const Average average = average_of_agreeing(offsets, 20ms);
  EXPECT_EQ(average.mean, 1ms);
  EXPECT_THAT(average.used, ElementsAre(0, 1, 2));
}

TEST(Average, AFaultyClockIsLeftOut) {
  const std::vector<Nanos> offsets{0ms, 4ms, 3h, 2ms};
  const Average average = average_of_agreeing(offsets, 20ms);
  EXPECT_EQ(average.mean, 2ms);
  EXPECT_THAT(average.used, ElementsAre(0, 1, 3));
}

TEST(Average, ThoseUsedAreWithinTheTolerance) {
  const std::vector<Nanos> offsets{0ms, 15ms, 30ms, 21ms};
  EXPECT_THAT(average_of_agreeing(offsets, 20ms).used, ElementsAre(1, 2, 3));
}

TEST(Average, KeepsNanosecondsFarFromZero) {
  const Nanos far = std::chrono::hours{24 * 365 * 50};
  const std::vector<Nanos> offsets{far, far + 3ns};
  EXPECT_EQ(average_of_agreeing(offsets, 1us).mean, far + 2ns);
}

}  // namespace
}  // namespace tempo::clock
