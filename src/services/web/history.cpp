#include "services/web/history.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace tempo::web {

void Series::add(double at_s, double offset_us, double bound_us) {
  if (!std::isfinite(at_s) || std::abs(at_s) > 1e11 || !std::isfinite(offset_us) ||
      !std::isfinite(bound_us))
    return;
  const auto offset = static_cast<float>(offset_us);
  const auto bound = static_cast<float>(bound_us);
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    auto& ring = rings_[i];
    const auto number =
        static_cast<std::int64_t>(std::floor(at_s / static_cast<double>(kLevels[i].step_s)));
    while (!ring.empty() && ring.back().number > number) ring.pop_back();
    if (ring.empty() || ring.back().number < number) {
      ring.push_back({number, offset, offset, bound});
    } else {
      Bucket& last = ring.back();
      last.low = std::min(last.low, offset);
      last.high = std::max(last.high, offset);
      last.bound = std::max(last.bound, bound);
    }
    const std::int64_t oldest = number - static_cast<std::int64_t>(kLevels[i].buckets);
    while (ring.front().number <= oldest) ring.pop_front();
  }
}

std::string Series::json(double span_s) const {
  std::size_t level = 0;
  while (level + 1 < kLevels.size() &&
         static_cast<double>(kLevels[level].step_s) * static_cast<double>(kLevels[level].buckets) <
             span_s)
    ++level;
  std::string text = fmt::format("{{\"step_s\":{},\"points\":[", kLevels[level].step_s);
  const char* comma = "";
  for (const Bucket& bucket : rings_[level]) {
    text += fmt::format("{}[{},{:.4g},{:.4g},{:.4g}]", comma, bucket.number * kLevels[level].step_s,
                        bucket.low, bucket.high, bucket.bound);
    comma = ",";
  }
  return text + "]}";
}

}  // namespace tempo::web
