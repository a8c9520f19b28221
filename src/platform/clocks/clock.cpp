#include "platform/clocks/clock.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <sys/timex.h>

#include "platform/clocks/kernel_clock.h"
#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

constexpr double kScaledPpm = 65536e6;  // struct timex has frequencies in 2^-16 parts per million

class RealKernelClock final : public KernelClock {
 public:
  Bracket read() override { return read_bracket(); }
  int adjust(timex& adjustment) override {
    return clock_adjtime(CLOCK_REALTIME, &adjustment) < 0 ? errno : 0;
  }
};

class NoClock final : public Clock {
 public:
  explicit NoClock(Nanos offset) : offset_(offset) {}
  const char* name() const override { return "none"; }
  WallTime read() override { return WallTime{read_bracket().real + offset_}; }
  Result<void> follow(Instant /*now*/, WallTime /*wall*/, double /*rate*/, bool /*step*/) override {
    return {};
  }
  Result<void> claim(const std::optional<KernelClaim>& /*claim*/) override { return {}; }

 private:
  Nanos offset_;
};

class KernelFollower final : public Clock {
 public:
  KernelFollower(std::unique_ptr<KernelClock> kernel, const SteeringOptions& options)
      : kernel_(std::move(kernel)), options_(options) {}

  // At the end the clock keeps the rate without the pending correction, and claims nothing.
  ~KernelFollower() override {
    if (claimed_) KernelFollower::claim(std::nullopt);
    if (!followed_) return;
    timex adjustment{};
    adjustment.modes = ADJ_FREQUENCY;
    adjustment.freq = std::lround(rate_ * kScaledPpm);
    kernel_->adjust(adjustment);
  }
  KernelFollower(const KernelFollower&) = delete;
  KernelFollower& operator=(const KernelFollower&) = delete;

  // Sets the frequency to its current value, which tests the permission, and ends leftovers of an
  // earlier daemon: an adjtime() in progress, an offset in the kernel PLL.
  Result<void> take_over() {
    timex now{};
    if (const int error = kernel_->adjust(now); error != 0) return refused(error);
    timex same{};
    same.modes = ADJ_FREQUENCY;
    same.freq = now.freq;
    if (const int error = kernel_->adjust(same); error != 0) return refused(error);
    timex no_adjtime{};
    no_adjtime.modes = ADJ_OFFSET_SINGLESHOT;
    if (const int error = kernel_->adjust(no_adjtime); error != 0) return refused(error);
    timex no_offset{};
    no_offset.modes = ADJ_STATUS | ADJ_OFFSET;
    no_offset.status = STA_PLL | STA_UNSYNC;
    if (const int error = kernel_->adjust(no_offset); error != 0) return refused(error);
    timex no_loop{};
    no_loop.modes = ADJ_STATUS;
    no_loop.status = STA_UNSYNC;
    if (const int error = kernel_->adjust(no_loop); error != 0) return refused(error);
    return {};
  }

  const char* name() const override { return "system"; }
  WallTime read() override { return WallTime{kernel_->read().real}; }

  Result<void> follow(Instant now, WallTime wall, double rate, bool step) override {
    const Bracket shown = kernel_->read();
    const auto since = static_cast<double>((shown.raw() - now).count());
    const Nanos wanted = wall.time_since_epoch() + Nanos{std::llround(since * (1 + rate))};
    const Nanos behind = wanted - shown.real;
    const bool steps = std::chrono::abs(behind) > options_.step_limit ||
                       (step && std::chrono::abs(behind) >= kMinStep);

    double frequency = rate;
    if (!steps) {
      const double correction = in_seconds(behind) / kCorrectionTime;
      frequency += std::clamp(correction, -options_.max_slew, options_.max_slew);
    }
    frequency = std::clamp(frequency, -kMaxFrequency, kMaxFrequency);

    timex adjustment{};
    adjustment.modes = ADJ_FREQUENCY;
    adjustment.freq = std::lround((frequency + owed_) * kScaledPpm);
    adjustment.freq = std::clamp(adjustment.freq, -kMaxScaled, kMaxScaled);
    if (steps) {
      adjustment.modes |= ADJ_SETOFFSET | ADJ_NANO;
      const timespec parts = timespec_of(behind);
      adjustment.time.tv_sec = parts.tv_sec;
      adjustment.time.tv_usec = parts.tv_nsec;  // ADJ_NANO: nanoseconds
    }
    const double set = static_cast<double>(adjustment.freq) / kScaledPpm;
    if (const int error = kernel_->adjust(adjustment); error != 0) return refused(error);
    owed_ = std::clamp(frequency + owed_ - set, -1 / kScaledPpm, 1 / kScaledPpm);
    rate_ = std::clamp(rate, -kMaxFrequency, kMaxFrequency);
    followed_ = true;
    return {};
  }

  Result<void> claim(const std::optional<KernelClaim>& claim) override {
    timex statement{};
    statement.modes = ADJ_STATUS | ADJ_MAXERROR | ADJ_ESTERROR;
    statement.status = STA_UNSYNC;
    statement.maxerror = statement.esterror = kMaxError / 1us;
    if (claim) {
      const Bracket shown = kernel_->read();
      const auto since = static_cast<double>((shown.raw() - claim->at).count());
      const Nanos passed{std::llround(since * (1 + claim->rate))};
      const Nanos doubt = shown.width() / 2 + 1ns;
      const auto ahead = [&](WallTime time) {
        return shown.real - (time + passed).time_since_epoch();
      };
      statement.status = 0;
      statement.maxerror =
          microseconds(std::max(ahead(claim->earliest), -ahead(claim->latest)) + doubt);
      statement.esterror = microseconds(std::chrono::abs(ahead(claim->time)) + doubt);
      if (claim->tai) {
        statement.modes |= ADJ_TAI;
        statement.constant = *claim->tai;
      }
    }
    if (const int error = kernel_->adjust(statement); error != 0) return refused(error);
    claimed_ = claim.has_value();
    return {};
  }

 private:
  static constexpr Nanos kMaxError =
      16s;  // NTP_PHASE_LIMIT: the kernel takes it as unsynchronized

  // Rounded up.
  static long microseconds(Nanos error) {
    return std::clamp<Nanos>(error + 999ns, 0ns, kMaxError) / 1us;
  }

  static constexpr double kMaxFrequency = 500e-6;  // the kernel's own limit
  static constexpr long kMaxScaled = 500L << 16;   // the same, as timex counts
  static constexpr Nanos kMinStep = 10us;          // smaller differences are slewed at once
  // Seconds. With one call per second, each halves the difference; only after four seconds without
  // a call is the next difference larger than the last.
  static constexpr double kCorrectionTime = 2;

  static std::unexpected<std::string> refused(int error) {
    if (error == EPERM) {
      return std::unexpected(std::string(
          "cannot set the system clock (EPERM): start tempod as root or grant CAP_SYS_TIME, or use "
          "clock = \"software\""));
    }
    return failure("cannot set the system clock: clock_adjtime", error);
  }

  std::unique_ptr<KernelClock> kernel_;
  SteeringOptions options_;
  double rate_ = 0;        // without correction
  double owed_ = 0;        // rounding error of the frequency, carried to the next call
  bool followed_ = false;  // the frequency was set by this object
  bool claimed_ = false;   // the kernel was told a bound by this object
};

}  // namespace

std::unique_ptr<KernelClock> real_kernel_clock() { return std::make_unique<RealKernelClock>(); }

std::unique_ptr<Clock> no_clock(Nanos offset) { return std::make_unique<NoClock>(offset); }

Result<std::unique_ptr<Clock>> system_clock() { return steer(real_kernel_clock(), {}); }

Result<std::unique_ptr<Clock>> steer(std::unique_ptr<KernelClock> kernel,
                                     const SteeringOptions& options) {
  auto clock = std::make_unique<KernelFollower>(std::move(kernel), options);
  if (auto taken = clock->take_over(); !taken) return std::unexpected(taken.error());
  return clock;
}

}  // namespace tempo::sys
