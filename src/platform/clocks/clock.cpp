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

constexpr double kScaledPpm = 65536e6;  // timex counts frequencies in 2^-16 parts per million

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

 private:
  Nanos offset_;
};

class KernelFollower final : public Clock {
 public:
  KernelFollower(std::unique_ptr<KernelClock> kernel, const SteeringOptions& options)
      : kernel_(std::move(kernel)), options_(options) {}

  // A clock that is no longer followed keeps the rate without what was still being made up.
  ~KernelFollower() override {
    if (!followed_) return;
    timex adjustment{};
    adjustment.modes = ADJ_FREQUENCY;
    adjustment.freq = std::lround(rate_ * kScaledPpm);
    kernel_->adjust(adjustment);
  }
  KernelFollower(const KernelFollower&) = delete;
  KernelFollower& operator=(const KernelFollower&) = delete;

  // Sets the frequency to what it is, which shows whether we may, and ends what an earlier daemon
  // may have left behind: an adjtime() under way, an offset in the kernel's own loop.
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
                       (step && std::chrono::abs(behind) >= kWorthAStep);

    double frequency = rate;
    if (!steps) {
      const double correction = in_seconds(behind) / kMadeUpIn;
      frequency += std::clamp(correction, -options_.slew_most, options_.slew_most);
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

 private:
  static constexpr double kMaxFrequency = 500e-6;  // the kernel's own limit
  static constexpr long kMaxScaled = 500L << 16;   // the same, as timex counts
  static constexpr Nanos kWorthAStep = 10us;       // less is slewed at once anyway
  // Seconds. Called once a second, half of a difference is gone each time; it takes a silence of
  // four seconds to make the next difference larger than the last.
  static constexpr double kMadeUpIn = 2;

  static std::unexpected<std::string> refused(int error) {
    if (error == EPERM) return failure("clock_adjtime (needs CAP_SYS_TIME)", error);
    return failure("clock_adjtime", error);
  }

  std::unique_ptr<KernelClock> kernel_;
  SteeringOptions options_;
  double rate_ = 0;        // without correction
  double owed_ = 0;        // what rounding has kept back of the frequency
  bool followed_ = false;  // the frequency is ours
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
