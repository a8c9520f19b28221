// Monte Carlo samples of equitable ring elections: rounds, productive rounds and winners.
//
// The code implements only the rule of a round, without machines, messages or delays, and is used
// to check those. A round of k active stations is bit-sliced: bit i of b words is the priority of
// the i-th active station, so comparing all stations with their predecessors takes a few operations
// for each word of 64 stations. The identity of an active station matters only when the winner is
// traced back.
#pragma once

#include <cstdint>
#include <vector>

namespace tempo::monte_carlo {

struct Equitable {
  static constexpr std::uint32_t kMaxStations = 1'024;
  static constexpr std::uint32_t kMaxRange = 1U << 16;

  std::uint32_t stations = 64;  // 1 to kMaxStations
  std::uint32_t range = 16;     // 2 to kMaxRange
  bool winners = false;         // also count the wins of each station
};

// The instruction set to use; `best` is the best one available. The counts do not depend on it.
enum class Width : std::uint8_t { plain, avx2, best };
bool available(Width width);

struct EquitableCounts {
  static constexpr std::uint32_t kMaxRounds = 1'024;  // longer elections count as this

  std::uint64_t elections = 0;
  std::vector<std::uint64_t> rounds;      // [T]
  std::vector<std::uint64_t> productive;  // [rounds of T that removed a station]
  std::vector<std::uint64_t> wins;        // [station]; empty unless `winners` is set

  EquitableCounts& operator+=(const EquitableCounts& other);
  bool operator==(const EquitableCounts&) const = default;
};

// Runs the first `elections` elections of block `block`, at most kBlock (lanes.h). The elections of
// a block do not depend on how many of them are run.
EquitableCounts run_block(const Equitable& ring, std::uint64_t seed, std::uint32_t block,
                          std::uint32_t elections, Width width = Width::best);

}  // namespace tempo::monte_carlo
