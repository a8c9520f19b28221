// How long the programs of a host wait for locks, as a histogram in the counters of its snapshot.
//
// The daemon counts, and the metrics read the counters: both take the buckets from here. A counter
// has the waits of its bucket only; the metrics add them up.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/units.h"

namespace tempo::obs {

struct LockWaitBucket {
  Nanos longest;  // Nanos::max(): without a limit
  std::string_view counter;
};
inline constexpr auto kLockWaitBuckets = std::to_array<LockWaitBucket>({
    {100us, "lock_wait_100us"},
    {250us, "lock_wait_250us"},
    {500us, "lock_wait_500us"},
    {1ms, "lock_wait_1ms"},
    {2500us, "lock_wait_2500us"},
    {5ms, "lock_wait_5ms"},
    {10ms, "lock_wait_10ms"},
    {50ms, "lock_wait_50ms"},
    {250ms, "lock_wait_250ms"},
    {1s, "lock_wait_1s"},
    {5s, "lock_wait_5s"},
    {30s, "lock_wait_30s"},
    {300s, "lock_wait_300s"},
    {Nanos::max(), "lock_wait_longer"},
});
inline constexpr std::string_view kLockWaitSum = "lock_wait_sum_us";

class LockWaits {
 public:
  void record(Nanos wait) {
    const auto bucket = std::ranges::find_if(
        kLockWaitBuckets, [&](const LockWaitBucket& one) { return wait <= one.longest; });
    ++counts_[static_cast<std::size_t>(bucket - kLockWaitBuckets.begin())];
    sum_ns_ += static_cast<std::uint64_t>(std::max(wait, Nanos{0}).count());
  }
  void add_to(std::map<std::string, std::uint64_t>& counters) const {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      counters[std::string(kLockWaitBuckets[i].counter)] = counts_[i];
    counters[std::string(kLockWaitSum)] = sum_ns_ / 1000;
  }

 private:
  std::array<std::uint64_t, kLockWaitBuckets.size()> counts_{};
  std::uint64_t sum_ns_ = 0;
};

}  // namespace tempo::obs
