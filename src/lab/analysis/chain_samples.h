// The anonymous ring and Algorithm C by the million: their chains of states, nothing else.
//
// Anonymous: a phase has as many candidates as draw 1; candidates in step play their stages with
// coins, and go unnoticed if at every boundary all pass their claim on or none does. Algorithm C: a
// candidate stays if it loses the messages of all above it.
#pragma once

#include <cstdint>
#include <vector>

namespace tempo::monte_carlo {

struct Anonymous {
  static constexpr std::uint32_t kMaxStations = 1'024;
  static constexpr std::uint32_t kMaxStages = 512;

  std::uint32_t stations = 8;
  std::uint32_t stages = 30;
  std::uint32_t candidates = 0;  // of the first phase; 0: as drawn. 64 at most
};

struct AnonymousCounts {
  static constexpr std::uint32_t kMaxPhases = 1'024;  // what takes longer is counted as this

  std::uint64_t elections = 0;
  std::vector<std::uint64_t> phases;         // [number]
  std::vector<std::uint64_t> leaders;        // [number]
  std::vector<std::uint64_t> first_leaders;  // [number elected in the first phase]

  AnonymousCounts& operator+=(const AnonymousCounts& other);
  bool operator==(const AnonymousCounts&) const = default;
};

// `elections` of this block, at most kBlock (lanes.h).
AnonymousCounts run_block(const Anonymous& ring, std::uint64_t seed, std::uint32_t block,
                          std::uint32_t elections);

struct Candidates {
  static constexpr std::uint32_t kMost = 64;

  std::uint32_t candidates = 2;  // 1 to kMost
  double loss = 0.1;             // at least 0, below 1
};

struct RoundCounts {
  static constexpr std::uint32_t kMaxRounds = 1'024;

  std::uint64_t elections = 0;
  std::vector<std::uint64_t> rounds;  // [number], the one that finds a sole candidate included

  RoundCounts& operator+=(const RoundCounts& other);
  bool operator==(const RoundCounts&) const = default;
};

RoundCounts run_block(const Candidates& chain, std::uint64_t seed, std::uint32_t block,
                      std::uint32_t elections);

}  // namespace tempo::monte_carlo
