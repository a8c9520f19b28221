#include "lab/analysis/lanes.h"

#include <utility>

namespace tempo::monte_carlo {

Lanes lanes_of(std::uint64_t seed, Cause cause, std::uint32_t block) {
  Stream stream(seed, std::to_underlying(cause), block);
  // SplitMix64 (Steele, Lea & Flood 2014), recommended by the authors of xoshiro: never all zero.
  std::uint64_t counter = stream.next();
  Lanes lanes;
  for (Generator& lane : lanes)
    for (std::uint64_t& word : lane.state) {
      std::uint64_t z = (counter += 0x9e3779b97f4a7c15U);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      word = z ^ (z >> 31);
    }
  return lanes;
}

}  // namespace tempo::monte_carlo
