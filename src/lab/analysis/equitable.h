// Equitable ring elections by the million: rounds, productive rounds and winners, nothing else.
//
// It knows the rule of a round and no machine, message or delay, and is used to check those. A
// round of k active stations is bit-sliced: bit i of b words is the priority of the i-th active
// station, so that comparing all stations with the ones before them takes a few operations for each
// word of 64 stations. Which station an active one is does not matter until the winner is traced
// back.
#pragma once

#include <cstdint>
#include <vector>

namespace tempo::monte_carlo {

struct Equitable {
  static constexpr std::uint32_t kMaxStations = 1'024;
  static constexpr std::uint32_t kMaxRange = 1U << 16;

  std::uint32_t stations = 64;  // 1 to kMaxStations
  std::uint32_t range = 16;     // 2 to kMaxRange
  bool winners = false;         // count who wins, too
};

// Which instructions to use; `best` is what the machine has. The counts are the same.
enum class Width : std::uint8_t { plain, avx2, best };
bool available(Width width);

struct EquitableCounts {
  static constexpr std::uint32_t kMaxRounds = 1'024;  // what takes longer is counted as this

  std::uint64_t elections = 0;
  std::vector<std::uint64_t> rounds;      // [T]
  std::vector<std::uint64_t> productive;  // [rounds of T that removed a station]
  std::vector<std::uint64_t> wins;        // of each station, if they are counted

  EquitableCounts& operator+=(const EquitableCounts& other);
  bool operator==(const EquitableCounts&) const = default;
};

// `elections` of block `block`, from its first; at most kBlock (lanes.h). What a block contains
// does not depend on how many of its elections are asked for.
EquitableCounts run_block(const Equitable& ring, std::uint64_t seed, std::uint32_t block,
                          std::uint32_t elections, Width width = Width::best);

}  // namespace tempo::monte_carlo
