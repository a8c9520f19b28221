#include "protocol/classic/average.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tempo::classic {

Nanos network_correction(std::span<const Nanos> offsets, Nanos interval) {
  if (offsets.empty()) return Nanos{0};
  if (offsets.size() == 1) return offsets.front() / 2;
  std::vector<Nanos> all(offsets.begin(), offsets.end());
  all.push_back(Nanos{0});
  std::ranges::sort(all);
  std::size_t best = 0;
  std::size_t best_size = 0;
  bool best_has_own = false;
  for (std::size_t first = 0, end = 0; first < all.size(); ++first) {
    while (end < all.size() && all[end] - all[first] <= interval) ++end;
    const std::size_t size = end - first;
    const bool has_own = all[first] <= Nanos{0} && all[end - 1] >= Nanos{0};
    if (size > best_size || (size == best_size && has_own && !best_has_own)) {
      best = first;
      best_size = size;
      best_has_own = has_own;
    }
  }
  Nanos sum{0};
  for (std::size_t i = best; i < best + best_size; ++i) sum += all[i];
  return sum / static_cast<Nanos::rep>(best_size);
}

void OffsetProbe::add(Nanos outbound, Nanos inbound) {
  outbound_ = outbound_ ? std::min(*outbound_, outbound) : outbound;
  inbound_ = inbound_ ? std::min(*inbound_, inbound) : inbound;
}

std::optional<Nanos> OffsetProbe::offset() const {
  if (!outbound_ || !inbound_) return std::nullopt;
  return (*outbound_ - *inbound_) / 2;
}

}  // namespace tempo::classic
