#include "lab/studies/group/ring/masking.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace tempo::sim::ring {

tempo::election::ring::Courier::Options masking(double loss, Nanos way) {
  CHECK(loss >= 0 && loss <= kMaxLoss);
  constexpr std::uint32_t kFewestSends = 4;
  constexpr std::uint32_t kMaxSends = 80;
  constexpr double kGivenUp = 1e-10;
  const double unanswered = 1 - (1 - loss) * (1 - loss);
  std::uint32_t sends = 1;
  for (double chance = unanswered; chance > kGivenUp && sends < kMaxSends; chance *= unanswered)
    ++sends;
  return {.interval = 2 * way + 1us, .sends = std::max(sends, kFewestSends)};
}

Nanos longest_way(const tempo::election::ring::Courier::Options& courier, Nanos way) {
  Nanos sum = way;
  for (std::uint32_t i = 0; i + 1 < courier.sends; ++i)
    sum += courier.interval * (std::int64_t{1} << std::min(i, 20U));
  return sum;
}

}  // namespace tempo::sim::ring
