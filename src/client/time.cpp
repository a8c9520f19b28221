#include "tempo/time.h"

#include <algorithm>
#include <utility>

#include <poll.h>

#include "api/page_file.h"

namespace tempo {
namespace {

using Steady = std::chrono::steady_clock;

// Usual delay of a wake-up; the last part of a wait is spent in a busy loop.
constexpr std::chrono::nanoseconds kWakeupDelay = std::chrono::microseconds{60};
constexpr std::chrono::nanoseconds kMaxSleep = std::chrono::milliseconds{100};

// Returns false if `cancel` is readable.
bool sleep_for(std::chrono::nanoseconds span, int cancel) {
  const timespec wait{.tv_sec = std::chrono::floor<std::chrono::seconds>(span).count(),
                      .tv_nsec = (span % std::chrono::seconds{1}).count()};
  pollfd end{cancel, POLLIN, 0};
  return ppoll(&end, cancel < 0 ? 0 : 1, &wait, nullptr) <= 0;
}

NetworkTime public_time(WallTime time) { return NetworkTime{time.time_since_epoch()}; }

}  // namespace

Expected<TimePage, Error> TimePage::open(const std::string& path) {
  auto reader = page::Reader::open(path);
  if (!reader) return Unexpected{Error{ErrorCode::no_daemon, reader.error()}};
  return TimePage(std::make_unique<page::Reader>(*std::move(reader)));
}

TimePage::TimePage(std::unique_ptr<page::Reader> reader) : reader_(std::move(reader)) {}
TimePage::~TimePage() = default;
TimePage::TimePage(TimePage&&) noexcept = default;
TimePage& TimePage::operator=(TimePage&&) noexcept = default;

Now TimePage::now() const {
  const page::Reading reading = reader_->now();
  static_assert(static_cast<int>(page::kLastStatus) == static_cast<int>(TimeStatus::alone));
  return {.earliest = public_time(reading.earliest),
          .latest = public_time(reading.latest),
          .status = static_cast<TimeStatus>(reading.status),
          .time = public_time(reading.time),
          .generation = reading.generation};
}

bool TimePage::wait_until_after(NetworkTime instant, std::chrono::nanoseconds limit,
                                int cancel) const {
  const Steady::time_point begin = Steady::now();
  for (;;) {
    const Now now = this->now();
    const bool known = now.status != TimeStatus::unsynchronized;
    if (known && now.earliest > instant) return true;
    const std::chrono::nanoseconds left = limit - (Steady::now() - begin);
    if (left <= left.zero()) return false;
    // Compare before subtracting: a far instant would overflow.
    const bool soon = known && instant < now.earliest + kMaxSleep;
    const auto distance = soon ? instant - now.earliest : kMaxSleep;
    const auto sleep = std::min(left, distance - kWakeupDelay);
    if (sleep > sleep.zero() && !sleep_for(sleep, cancel)) return false;
  }
}

std::optional<NetworkTime> Timestamps::next() {
  const Now now = page_->now();
  if (now.status == TimeStatus::unsynchronized) return std::nullopt;
  const std::int64_t latest = now.latest.time_since_epoch().count();
  std::int64_t last = last_.load(std::memory_order_relaxed);
  std::int64_t stamp = 0;
  do {
    stamp = last < latest ? latest : last + 1;
  } while (!last_.compare_exchange_weak(last, stamp, std::memory_order_relaxed));
  return NetworkTime{std::chrono::nanoseconds{stamp}};
}

}  // namespace tempo
