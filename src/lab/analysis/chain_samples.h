// Monte Carlo samples of the Markov chains of the anonymous ring and of Algorithm C.
//
// Anonymous ring: the candidates of a phase are the stations that draw 1. Candidates in step toss
// coins in their stages and remain undetected if at every boundary all pass their claim on or none
// does. Algorithm C: a candidate remains if it loses the messages of all candidates above it.
#pragma once

#include <cstdint>
#include <vector>

namespace tempo::monte_carlo {

struct Anonymous {
  static constexpr std::uint32_t kMaxStations = 1'024;
  static constexpr std::uint32_t kMaxStages = 512;

  std::uint32_t stations = 8;
  std::uint32_t stages = 30;
  std::uint32_t candidates = 0;  // in the first phase, at most 64; 0: drawn
};

struct AnonymousCounts {
  static constexpr std::uint32_t kMaxPhases = 1'024;  // longer elections count as this

  std::uint64_t elections = 0;
  std::vector<std::uint64_t> phases;         // [number]
  std::vector<std::uint64_t> leaders;        // [number]
  std::vector<std::uint64_t> first_leaders;  // [number elected in the first phase]

  AnonymousCounts& operator+=(const AnonymousCounts& other);
  bool operator==(const AnonymousCounts&) const = default;
};

// Runs `elections` elections of this block, at most kBlock (lanes.h).
AnonymousCounts run_block(const Anonymous& ring, std::uint64_t seed, std::uint32_t block,
                          std::uint32_t elections);

struct Candidates {
  static constexpr std::uint32_t kMaxCandidates = 64;

  std::uint32_t candidates = 2;  // 1 to kMaxCandidates
  double loss = 0.1;             // probability of losing a message; at least 0, below 1
};

struct RoundCounts {
  static constexpr std::uint32_t kMaxRounds = 1'024;

  std::uint64_t elections = 0;
  std::vector<std::uint64_t> rounds;  // [number], including the round that finds a sole candidate

  RoundCounts& operator+=(const RoundCounts& other);
  bool operator==(const RoundCounts&) const = default;
};

RoundCounts run_block(const Candidates& chain, std::uint64_t seed, std::uint32_t block,
                      std::uint32_t elections);

}  // namespace tempo::monte_carlo
