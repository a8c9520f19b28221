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
  long maxerror = 77;  // microseconds
  long esterror = 77;
  int tai = 0;
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
    if ((request.modes & ADJ_MAXERROR) != 0) kernel_->maxerror = request.maxerror;
    if ((request.modes & ADJ_ESTERROR) != 0) kernel_->esterror = request.esterror;
    if ((request.modes & ADJ_TAI) != 0) kernel_->tai = static_cast<int>(request.constant);
    if ((request.modes & ADJ_OFFSET) != 0 && (kernel_->status & STA_PLL) != 0)
      kernel_->offset = request.offset;
    if ((request.modes & ADJ_FREQUENCY) != 0) {
      if (std::abs(request.freq) > 500L << 16) return EINVAL;
      kernel_->frequency = request.freq;
    }
    if ((request.modes & ADJ_SETOFFSET) != 0) {
      if ((request.modes & ADJ_NANO) == 0) return EINVAL;
      if (request.time.tv_usec < 0 || request.time.tv_usec > 999'999'999) return EINVAL;
      // A step makes the kernel forget what it was told.
      kernel_->status |= STA_UNSYNC;
      kernel_->maxerror = 16'000'000;
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

// --- what the kernel tells other programs ---

// Network time is `ahead` of the kernel's clock, within 3 us.
KernelClaim claim_of(const SimulatedKernel& kernel, Nanos ahead) {
  const WallTime time{kernel.shown() + ahead};
  return {.at = kernel.raw, .time = time, .earliest = time - 3us, .latest = time + 3us};
}

// 40 us between the clocks, 3 us of the interval, 25 ns of the reading: rounded up to microseconds.
TEST_F(SystemClock, TellsTheKernelItsError) {
  const auto clock = made();
  for (const Nanos ahead : {40us, -40us}) {
    ASSERT_TRUE(clock->claim(claim_of(kernel_, ahead)));
    EXPECT_EQ(kernel_.status & STA_UNSYNC, 0);
    EXPECT_EQ(kernel_.maxerror, 44);
    EXPECT_EQ(kernel_.esterror, 41);
  }
  EXPECT_EQ(kernel_.tai, 0);
  KernelClaim with_tai = claim_of(kernel_, 0ns);
  with_tai.tai = 37;
  ASSERT_TRUE(clock->claim(with_tai));
  EXPECT_EQ(kernel_.tai, 37);
}

// The interval is from a while ago: network time went on, 100 ppm faster than raw time.
TEST_F(SystemClock, CarriesTheIntervalToTheReading) {
  const auto clock = made();
  KernelClaim claim = claim_of(kernel_, 0ns);
  claim.rate = 100e-6;
  kernel_.run(1s);
  ASSERT_TRUE(clock->claim(claim));
  EXPECT_EQ(kernel_.maxerror, 104);
  EXPECT_EQ(kernel_.esterror, 101);
}

TEST_F(SystemClock, TakesTheClaimBack) {
  {
    const auto clock = made();
    ASSERT_TRUE(clock->claim(claim_of(kernel_, 0ns)));
    ASSERT_TRUE(clock->claim(std::nullopt));
    EXPECT_NE(kernel_.status & STA_UNSYNC, 0);
    EXPECT_EQ(kernel_.maxerror, 16'000'000);
    ASSERT_TRUE(clock->claim(claim_of(kernel_, 0ns)));
    EXPECT_EQ(kernel_.status & STA_UNSYNC, 0);
  }
  EXPECT_NE(kernel_.status & STA_UNSYNC, 0);
  EXPECT_EQ(kernel_.maxerror, 16'000'000);
  EXPECT_EQ(kernel_.esterror, 16'000'000);
}

TEST_F(SystemClock, NeverClaimsMoreThanTheKernelCanSay) {
  const auto clock = made();
  ASSERT_TRUE(clock->claim(claim_of(kernel_, 24h)));
  EXPECT_EQ(kernel_.maxerror, 16'000'000);
}

// A reading at any time in the second after a claim: the kernel adds 500 ppm, and the truth is
// inside.
TEST_F(SystemClock, ContainsTheTruthUntilTheNextClaim) {
  kernel_.own_rate = 80e-6;
  const auto clock = made();
  line(300us, -20e-6);
  for (int second = 0; second < 200; ++second) {
    if (second == 100) line(700ms, -20e-6);  // a step
    follow(*clock, second == 100);
    KernelClaim claim{.at = kernel_.raw,
                      .time = wanted(),
                      .earliest = wanted() - 2us,
                      .latest = wanted() + 2us,
                      .rate = rate_};
    ASSERT_TRUE(clock->claim(claim));
    EXPECT_EQ(kernel_.status & STA_UNSYNC, 0);
    for (int part = 0; part < 10; ++part) {
      kernel_.run(100ms);
      const double since = (part + 1) * 0.1;
      EXPECT_LE(std::abs(static_cast<double>(behind().count())) * 1e-3,
                static_cast<double>(kernel_.maxerror) + 500 * since)
          << second;
    }
  }
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
