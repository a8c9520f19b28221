#include "platform/clocks/clock.h"

#include <cerrno>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "platform/clocks/kernel_clock.h"

namespace tempo::sys {
namespace {

// A simulated kernel clock that advances when the test says so.
struct SimulatedKernel {
  Instant raw{1000s};
  long double real = 1.7e18L;  // nanoseconds
  long frequency = 0;          // in 2^-16 parts per million
  double own_rate = 0;         // rate at frequency 0
  Nanos width = 50ns;          // of a bracket
  int error = 0;               // returned by adjust
  long offset = 1234;          // left in the PLL by an earlier daemon
  int status = STA_PLL;
  bool adjtime_under_way = true;
  std::vector<timex> calls;

  void run(Nanos span) {
    const double rate = own_rate + static_cast<double>(frequency) / 65536e6;
    raw += span;
    real += static_cast<long double>(span.count()) * (1 + static_cast<long double>(rate));
  }
  Nanos shown() const { return Nanos{static_cast<Nanos::rep>(std::floor(real))}; }
};

class SimulatedCalls final : public KernelClock {
 public:
  explicit SimulatedCalls(SimulatedKernel& kernel) : kernel_(&kernel) {}
  Bracket read() override {
    return {.before = kernel_->raw - kernel_->width / 2,
            .real = kernel_->shown(),
            .after = kernel_->raw + kernel_->width / 2};
  }
  int adjust(timex& request) override {
    if (request.modes != 0 && kernel_->error != 0) return kernel_->error;
    if (request.modes == ADJ_OFFSET_SINGLESHOT) {
      kernel_->adjtime_under_way = request.offset != 0;
      return 0;
    }
    if (request.modes != 0) kernel_->calls.push_back(request);
    if ((request.modes & ADJ_STATUS) != 0) kernel_->status = request.status;
    if ((request.modes & ADJ_OFFSET) != 0 && (kernel_->status & STA_PLL) != 0)
      kernel_->offset = request.offset;
    if ((request.modes & ADJ_FREQUENCY) != 0) {
      if (std::abs(request.freq) > 500L << 16) return EINVAL;
      kernel_->frequency = request.freq;
    }
    if ((request.modes & ADJ_SETOFFSET) != 0) {
      if ((request.modes & ADJ_NANO) == 0) return EINVAL;
      if (request.time.tv_usec < 0 || request.time.tv_usec > 999'999'999) return EINVAL;
      kernel_->real += static_cast<long double>(request.time.tv_sec) * 1e9L +
                       static_cast<long double>(request.time.tv_usec);
    }
    request.freq = kernel_->frequency;
    request.status = kernel_->status;
    return 0;
  }

 private:
  SimulatedKernel* kernel_;
};

class SystemClock : public ::testing::Test {
 protected:
  std::unique_ptr<Clock> made(const SteeringOptions& options = {}) {
    auto clock = steer(std::make_unique<SimulatedCalls>(kernel_), options);
    EXPECT_TRUE(clock) << clock.error();
    kernel_.calls.clear();
    return std::move(clock).value_or(nullptr);
  }

  // The line to follow: through `wall_` at `since_`, faster than raw time by `rate_`.
  void line(Nanos ahead, double rate) {
    since_ = kernel_.raw;
    wall_ = WallTime{kernel_.shown() + ahead};
    rate_ = rate;
  }
  WallTime wanted() const {
    const auto since = static_cast<double>((kernel_.raw - since_).count());
    return wall_ + Nanos{std::llround(since * (1 + rate_))};
  }
  void follow(Clock& clock, bool step = false) {
    const auto followed = clock.follow(kernel_.raw, wanted(), rate_, step);
    ASSERT_TRUE(followed) << followed.error();
  }
  Nanos behind() const { return wanted().time_since_epoch() - kernel_.shown(); }
  bool stepped() const {
    for (const timex& call : kernel_.calls) {
      if ((call.modes & ADJ_SETOFFSET) != 0) return true;
    }
    return false;
  }
  double frequency() const { return static_cast<double>(kernel_.frequency) / 65536e6; }

  SimulatedKernel kernel_;
  Instant since_;
  WallTime wall_;
  double rate_ = 0;
};

TEST_F(SystemClock, EndsLeftoversOfAnEarlierDaemon) {
  kernel_.frequency = 12345;
  const auto clock = made();
  EXPECT_EQ(kernel_.frequency, 12345);
  EXPECT_EQ(kernel_.offset, 0);
  EXPECT_EQ(kernel_.status & STA_PLL, 0);
  EXPECT_FALSE(kernel_.adjtime_under_way);
}

TEST_F(SystemClock, NamesTheMissingCapability) {
  kernel_.error = EPERM;
  const auto clock = steer(std::make_unique<SimulatedCalls>(kernel_), {});
  ASSERT_FALSE(clock);
  EXPECT_EQ(
      clock.error(),
      "cannot set the system clock (EPERM): start tempod as root or grant CAP_SYS_TIME, or use "
      "clock = \"software\"");
}

TEST_F(SystemClock, ReadsTheKernelClock) { EXPECT_EQ(made()->read(), WallTime{kernel_.shown()}); }

TEST_F(SystemClock, RunsAtTheGivenRate) {
  const auto clock = made();
  line(0ns, 30e-6);
  follow(*clock);
  EXPECT_NEAR(frequency(), 30e-6, 1e-10);
  kernel_.run(1s);
  EXPECT_LT(std::chrono::abs(behind()), 3ns);
}

TEST_F(SystemClock, SlewsASmallDifferenceAway) {
  const auto clock = made();
  line(100us, 10e-6);
  for (int second = 0; second < 20; ++second) {
    follow(*clock);
    kernel_.run(1s);
  }
  EXPECT_LT(std::chrono::abs(behind()), 5ns);
  EXPECT_FALSE(stepped());
}

TEST_F(SystemClock, LimitsTheSlew) {
  const auto clock = made();
  line(-100ms, 0);
  follow(*clock);
  EXPECT_NEAR(frequency(), -400e-6, 1e-10);
  line(100ms, 300e-6);
  follow(*clock);
  EXPECT_NEAR(frequency(), 500e-6, 1e-10);  // limit of the kernel
}

TEST_F(SystemClock, NeverGoesBackwardsByASlew) {
  const auto clock = made();
  line(-127ms, -100e-6);
  Nanos last = kernel_.shown();
  for (int tenth = 0; tenth < 6000; ++tenth) {
    follow(*clock);
    kernel_.run(100ms);
    ASSERT_GT(kernel_.shown(), last);
    last = kernel_.shown();
  }
  EXPECT_FALSE(stepped());
  EXPECT_LT(std::chrono::abs(behind()), 5ns);
}

TEST_F(SystemClock, StepsAboveTheLimit) {
  const auto clock = made();
  line(128ms, 0);
  follow(*clock);
  EXPECT_FALSE(stepped());
  line(128ms + 1ns, 20e-6);
  follow(*clock);
  EXPECT_TRUE(stepped());
  EXPECT_EQ(behind(), Nanos{0});
  EXPECT_NEAR(frequency(), 20e-6, 1e-10);
}

TEST_F(SystemClock, StepsBackwardsByNanoseconds) {
  const auto clock = made();
  line(-3'600'000'000'001ns, 0);
  follow(*clock);
  EXPECT_EQ(behind(), Nanos{0});
}

TEST_F(SystemClock, StepsIfAllowedAndLargeEnough) {
  const auto clock = made();
  line(9us, 0);
  follow(*clock, true);
  EXPECT_FALSE(stepped());
  line(10us, 0);
  follow(*clock, true);
  EXPECT_TRUE(stepped());
  EXPECT_EQ(behind(), Nanos{0});
}

TEST_F(SystemClock, AllowsForTheTimeSinceTheReading) {
  const auto clock = made();
  line(0ns, 100e-6);
  const WallTime then = wanted();
  const Instant asked = kernel_.raw;
  kernel_.run(2s);
  line(0ns, 0);
  ASSERT_TRUE(clock->follow(asked, then + 500ms, 100e-6, true));
  EXPECT_EQ(kernel_.shown(), then.time_since_epoch() + 2s + 500ms + 200us);
}

// A frequency between two representable ones: without compensation the clock would lose seven
// picoseconds per second.
TEST_F(SystemClock, CompensatesForRounding) {
  const auto clock = made();
  const double between = 1000.49 / 65536e6;
  line(0ns, between);
  double sum = 0;
  constexpr int kTimes = 1000;
  for (int second = 0; second < kTimes; ++second) {
    line(0ns, between);  // no difference to correct: only rounding
    follow(*clock);
    sum += static_cast<double>(kernel_.frequency);
  }
  EXPECT_NEAR(sum / kTimes, 1000.49, 0.01);
}

TEST_F(SystemClock, FollowsTheLineDespiteAKernelRateError) {
  kernel_.own_rate = 1e-9;
  const auto clock = made();
  line(0ns, 5e-6);
  for (int second = 0; second < 1000; ++second) {
    follow(*clock);
    kernel_.run(1s);
    ASSERT_LT(std::chrono::abs(behind()), 6ns);
  }
}

TEST_F(SystemClock, KeepsTheRateAtTheEnd) {
  auto clock = made();
  line(100ms, 30e-6);
  follow(*clock);
  EXPECT_NEAR(frequency(), 430e-6, 1e-10);
  clock.reset();
  EXPECT_NEAR(frequency(), 30e-6, 1e-10);
}

TEST_F(SystemClock, KeepsTheFrequencyIfNeverFollowed) {
  kernel_.frequency = 12345;
  made().reset();
  EXPECT_EQ(kernel_.frequency, 12345);
}

TEST_F(SystemClock, ReportsKernelErrors) {
  const auto clock = made();
  kernel_.error = EINVAL;
  const auto followed = clock->follow(kernel_.raw, WallTime{kernel_.shown()}, 0, false);
  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error(), "cannot set the system clock: clock_adjtime: Invalid argument");
}

TEST(NoClock, ReadsWithAnOffsetAndFollowsNothing) {
  const auto clock = no_clock(1h);
  timespec before{};
  clock_gettime(CLOCK_REALTIME, &before);
  const WallTime shown = clock->read();
  EXPECT_GE(shown.time_since_epoch(), nanos_of(before) + 1h);
  EXPECT_LT(shown.time_since_epoch(), nanos_of(before) + 1h + 10min);
  EXPECT_TRUE(clock->follow(Instant{0s}, WallTime{0s}, 1, true));
  EXPECT_GE(clock->read(), shown);
  EXPECT_STREQ(clock->name(), "none");
}

}  // namespace
}  // namespace tempo::sys
