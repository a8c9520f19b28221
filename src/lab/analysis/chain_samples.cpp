#include "lab/analysis/chain_samples.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "lab/analysis/lanes.h"

namespace tempo::monte_carlo {
namespace {

void add(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}
void count(std::vector<std::uint64_t>& counts, std::uint32_t value) {
  if (counts.size() <= value) counts.resize(std::size_t{value} + 1);
  ++counts[value];
}

// A probability as a threshold for 64 random bits.
std::uint64_t limit_of(long double probability) {
  if (probability >= 1) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(std::ldexp(probability, 64));
}

// Thresholds of the distribution function of how many of n stations draw 1.
std::vector<std::uint64_t> candidate_limits(std::uint32_t n) {
  std::vector<std::uint64_t> limits;
  const long double one = 1.0L / n;
  long double chance = std::pow(1 - one, static_cast<long double>(n));
  long double sum = 0;
  for (std::uint32_t c = 0; c <= n; ++c) {
    sum += chance;
    limits.push_back(limit_of(sum));
    if (limits.back() == std::numeric_limits<std::uint64_t>::max() || n == 1) break;
    chance *= static_cast<long double>(n - c) / (c + 1) * one / (1 - one);
  }
  return limits;
}

std::uint32_t draw_candidates(Generator& lane, std::uint32_t n,
                              const std::vector<std::uint64_t>& limits) {
  if (n == 1) return 1;
  const std::uint64_t random = lane.next();
  std::uint32_t c = 0;
  while (c + 1 < limits.size() && random >= limits[c]) ++c;
  return c;
}

// Returns true if candidates in step pass all stages undetected.
bool undetected(Generator& lane, std::uint32_t candidates, std::uint32_t stages) {
  if (candidates > 64) return false;  // probability 2^-64 even with only two stages
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - candidates);
  std::uint64_t forwarding = all;
  for (std::uint32_t boundary = 1; boundary < stages; ++boundary) {
    const std::uint64_t next = lane.next() & all;
    const std::uint64_t passed_on = forwarding & next;
    if (passed_on != 0 && passed_on != all) return false;
    forwarding = next;
  }
  return true;
}

}  // namespace

AnonymousCounts& AnonymousCounts::operator+=(const AnonymousCounts& other) {
  elections += other.elections;
  add(phases, other.phases);
  add(leaders, other.leaders);
  add(first_leaders, other.first_leaders);
  return *this;
}

RoundCounts& RoundCounts::operator+=(const RoundCounts& other) {
  elections += other.elections;
  add(rounds, other.rounds);
  return *this;
}

AnonymousCounts run_block(const Anonymous& ring, std::uint64_t seed, std::uint32_t block,
                          std::uint32_t elections) {
  CHECK(ring.stations >= 1 && ring.stations <= Anonymous::kMaxStations);
  CHECK(ring.stages >= 1 && ring.stages <= Anonymous::kMaxStages && elections <= kBlock);
  CHECK(ring.candidates <= 64);
  Lanes lanes = lanes_of(seed, Cause::anonymous, block);
  const std::vector<std::uint64_t> limits = candidate_limits(ring.stations);
  AnonymousCounts counts{.elections = elections, .phases = {}, .leaders = {}, .first_leaders = {}};
  for (std::uint32_t i = 0; i < elections; ++i) {
    Generator& lane = lanes[i % kLanes];
    std::uint32_t leaders = 0;
    std::uint32_t phase = 0;
    while (leaders == 0) {
      const std::uint32_t candidates = ring.candidates > 0 && phase == 0
                                           ? ring.candidates
                                           : draw_candidates(lane, ring.stations, limits);
      ++phase;
      if (candidates == 1 || (candidates > 1 && undetected(lane, candidates, ring.stages)))
        leaders = candidates;
      if (phase == 1) count(counts.first_leaders, leaders);
    }
    count(counts.phases, std::min(phase, AnonymousCounts::kMaxPhases));
    count(counts.leaders, leaders);
  }
  return counts;
}

RoundCounts run_block(const Candidates& chain, std::uint64_t seed, std::uint32_t block,
                      std::uint32_t elections) {
  CHECK(chain.candidates >= 1 && chain.candidates <= Candidates::kMaxCandidates &&
        elections <= kBlock);
  CHECK(chain.loss >= 0 && chain.loss < 1);
  Lanes lanes = lanes_of(seed, Cause::algorithm_c, block);
  const std::uint64_t lost = limit_of(static_cast<long double>(chain.loss));
  RoundCounts counts{.elections = elections, .rounds = {}};
  for (std::uint32_t i = 0; i < elections; ++i) {
    Generator& lane = lanes[i % kLanes];
    std::uint32_t rounds = 1;
    for (std::uint32_t active = chain.candidates; active > 1; ++rounds) {
      std::uint32_t stay = 1;  // the highest candidate always remains
      for (std::uint32_t rank = 1; rank < active; ++rank) {
        bool heard = false;
        for (std::uint32_t above = 0; above < rank && !heard; ++above) heard = lane.next() >= lost;
        stay += heard ? 0 : 1;
      }
      active = stay;
    }
    count(counts.rounds, std::min(rounds, RoundCounts::kMaxRounds));
  }
  return counts;
}

}  // namespace tempo::monte_carlo
