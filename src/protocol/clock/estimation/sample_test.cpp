#include "protocol/clock/estimation/sample.h"

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

Exchange exchange(Nanos asked, Nanos received, Nanos answered, Nanos heard) {
  return {.asked = Instant{asked},
          .received = WallTime{received},
          .answered = WallTime{answered},
          .heard = Instant{heard}};
}

TEST(Frame, CountsFromTheFirstExchange) {
  Frame frame;
  const auto first = frame.sample(exchange(10s, 900s, 900s + 1ms, 10s + 3ms));
  ASSERT_TRUE(first);
  EXPECT_NEAR((*first)[Direction::forward].value, 0, 1e-12);
  EXPECT_NEAR((*first)[Direction::reverse].value, 2e-3, 1e-12);
  EXPECT_NEAR(first->round_trip(), 2e-3, 1e-12);
  EXPECT_NEAR(first->middle(), 1e-3, 1e-12);
  EXPECT_NEAR((*first)[Direction::reverse].t - (*first)[Direction::forward].t, 3e-3, 1e-12);
}

TEST(Frame, ConvertsThetaBack) {
  Frame frame;
  const auto sample = frame.sample(exchange(10s, 900s + 1ms, 900s + 1ms, 10s + 2ms));
  ASSERT_TRUE(sample);
  const Nanos theta = -890s;  // with a millisecond in each direction
  EXPECT_LE(frame.theta_down(sample->middle()), theta);
  EXPECT_GE(frame.theta_up(sample->middle()), theta);
  EXPECT_LE(frame.theta_up(sample->middle()) - frame.theta_down(sample->middle()), 2ns);
}

TEST(Frame, KeepsNanosecondsAfterTenYears) {
  Frame frame;
  ASSERT_TRUE(frame.sample(exchange(0s, 1'700'000'000s, 1'700'000'000s, 1ms)));
  const Nanos late = std::chrono::hours{24 * 3650};
  const auto sample = frame.sample(
      exchange(late, late + 1'700'000'000s + 7ns, late + 1'700'000'000s + 7ns, late + 1ms));
  ASSERT_TRUE(sample);
  EXPECT_NEAR((*sample)[Direction::forward].value, 7e-9, 1e-11);
}

TEST(Frame, ShiftMovesSamplesAndTheta) {
  Frame frame;
  const auto before = frame.sample(exchange(10s, 900s, 900s, 10s + 2ms));
  frame.shift(5s);
  const auto after = frame.sample(exchange(11s, 896s, 896s, 11s + 2ms));
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(before->middle(), after->middle(), 1e-12);
  EXPECT_EQ(frame.theta_down(0), -885s);
}

TEST(Frame, RefusesImpossibleExchanges) {
  Frame frame;
  EXPECT_FALSE(frame.sample(exchange(10s, 900s, 900s, 10s - 1ns)));
  EXPECT_FALSE(frame.sample(exchange(10s, 900s, 900s - 1ns, 10s)));
  EXPECT_FALSE(frame.sample(exchange(10s, 900s, 900s + 2ns, 10s + 1ns)));
  EXPECT_TRUE(frame.sample(exchange(10s, 900s, 900s + 1ns, 10s + 1ns)));
}

TEST(Frame, RefusesTimestampsOutOfRange) {
  Frame frame;
  for (const Nanos far : {Nanos::min(), Nanos::max()}) {
    EXPECT_FALSE(frame.sample(exchange(far, 900s, 900s, 10s)));
    EXPECT_FALSE(frame.sample(exchange(10s, far, 900s, 10s)));
    EXPECT_FALSE(frame.sample(exchange(10s, 900s, far, 10s)));
    EXPECT_FALSE(frame.sample(exchange(10s, 900s, 900s, far)));
  }
}

TEST(Reading, DelayIsTheReadingWithoutTheta) {
  const Line theta{.value = 5e-3, .rate = 1e-6, .origin = 100};
  const Reading out{.t = 200, .value = 1e-3 - theta.at(200)};
  const Reading back{.t = 200, .value = 2e-3 + theta.at(200)};
  EXPECT_NEAR(out.delay(Direction::forward, theta), 1e-3, 1e-15);
  EXPECT_NEAR(back.delay(Direction::reverse, theta), 2e-3, 1e-15);
}

}  // namespace
}  // namespace tempo::clock
