#include "lab/analysis/anonymous_ring.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace tempo::analysis {

Fraction all_elected(std::uint32_t candidates, std::uint32_t stages) {
  CHECK(candidates >= 1 && candidates <= kMaxCandidates && stages >= 1 && stages <= kMaxStages);
  // ways[f]: number of undetected sequences of choices with f candidates forwarding now. A
  // candidate that forwards now and next passes its claim on; it is detected unless all candidates
  // do so.
  std::vector<Whole> ways(candidates + 1);
  ways[candidates] = 1;  // all candidates forward in the first stage
  if (candidates == 1) return 1;
  for (std::uint32_t boundary = 1; boundary < stages; ++boundary) {
    std::vector<Whole> next(candidates + 1);
    for (std::uint32_t forwarding = 0; forwarding <= candidates; ++forwarding) {
      // No claim is passed on: candidates that forward now hold next, the others choose freely.
      for (std::uint32_t chosen = 0; chosen <= candidates - forwarding; ++chosen)
        next[chosen].add_product(ways[forwarding],
                                 Whole::binomial(candidates - forwarding, chosen));
    }
    next[candidates] += ways[candidates];  // all claims are passed on
    ways = std::move(next);
  }
  Whole sum;
  for (const Whole& count : ways) sum += count;
  return {sum, Whole::power(2, std::uint64_t{candidates} * (stages - 1))};
}

Fraction candidates_drawn(std::uint32_t n, std::uint32_t c) {
  CHECK(n >= 1);
  if (c > n) return 0;
  const auto stations = std::int64_t{n};
  return {Whole::binomial(stations, c) * Whole::power(stations - 1, n - c),
          Whole::power(stations, n)};
}

Fraction mean_phases(std::uint32_t n) {
  CHECK(n >= 1);
  const auto stations = std::int64_t{n};
  if (n == 1) return 1;
  return {Whole::power(stations, n - 1), Whole::power(stations - 1, n - 1)};
}

}  // namespace tempo::analysis
