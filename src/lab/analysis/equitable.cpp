#include "lab/analysis/equitable.h"

#include <algorithm>

#include "base/check.h"
#include "lab/analysis/equitable_kernels.h"

namespace tempo::monte_carlo {
namespace {

void add(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

void trim(std::vector<std::uint64_t>& counts) {
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
}

// Election i of a block runs in lane i modulo kLanes: the first elections are always the same.
LaneElections shared_out(std::uint32_t elections) {
  LaneElections shares{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    shares[lane] = (elections + kLanes - 1 - lane) / kLanes;
  return shares;
}

}  // namespace

EquitableCounts& EquitableCounts::operator+=(const EquitableCounts& other) {
  elections += other.elections;
  add(rounds, other.rounds);
  add(productive, other.productive);
  add(wins, other.wins);
  return *this;
}

bool available(Width width) {
#if defined(__x86_64__)
  return width != Width::avx2 || __builtin_cpu_supports("avx2");
#else
  return width != Width::avx2;
#endif
}

EquitableCounts run_block(const Equitable& ring, std::uint64_t seed, std::uint32_t block,
                          std::uint32_t elections, Width width) {
  CHECK(ring.stations >= 1 && ring.stations <= Equitable::kMaxStations);
  CHECK(ring.range >= 2 && ring.range <= Equitable::kMaxRange && elections <= kBlock);
  CHECK(available(width));
  EquitableCounts counts{.elections = elections,
                         .rounds = std::vector<std::uint64_t>(EquitableCounts::kMaxRounds + 1),
                         .productive = std::vector<std::uint64_t>(ring.stations),
                         .wins = {}};
  if (ring.winners) counts.wins.resize(ring.stations);
  Lanes lanes = lanes_of(seed, Cause::equitable, block);
  const bool wide = width != Width::plain && available(Width::avx2) && fits_avx2(ring);
  (wide ? draw_avx2 : draw_plain)(ring, lanes, shared_out(elections), counts);
  trim(counts.rounds);
  trim(counts.productive);
  return counts;
}

}  // namespace tempo::monte_carlo
