// What came of many ring elections, as counts: they add up, whoever drew them, and are written so
// that parts made by several machines can be put together again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tempo::cli {

using Histogram = std::map<std::uint32_t, std::uint64_t>;  // value -> number of runs

// What the runs of one command have in common; parts with different ones are not added.
struct RingAsked {
  std::string kind = "equitable";
  std::uint32_t stations = 8;
  std::uint32_t range = 16;   // equitable
  std::uint32_t stages = 30;  // anonymous
  double gamma = 1;           // anonymous
  double loss = 0;
  double duplicate = 0;
  std::uint32_t crash = 0;
  std::uint32_t faulty = 0;
  std::uint32_t candidates = 0;
  std::string variant{};
  bool fast = false;  // drawn by the Monte Carlo, without machines
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;  // of all shards together

  bool operator==(const RingAsked&) const = default;
};

struct RingCounts {
  std::uint64_t runs = 0;
  Histogram leaders{};
  Histogram rounds;  // or phases
  Histogram productive;
  Histogram first_phase_leaders;
  std::uint64_t hops = 0;  // or messages
  std::uint64_t announcement_hops = 0;
  std::uint64_t bits = 0;
  std::uint64_t buffer_max = 0;
  std::uint64_t elections = 0;  // numbers used, where stations crash or are faulty
  std::uint64_t reelections = 0;
  std::uint64_t faulty_again = 0;
  std::uint64_t violations = 0;
  std::uint64_t hash = 0;  // of all runs, in any order
  std::vector<std::uint64_t> wins;

  RingCounts& operator+=(const RingCounts& other);
};

// The whole answer; `shard` is "" or "2/4".
Json ring_json(const RingAsked& asked, const RingCounts& counts, const std::string& shard);
std::string ring_table(const RingAsked& asked, const RingCounts& counts);

struct RingPart {
  RingAsked asked;
  RingCounts counts;
  std::string shard;
};
// Reads what ring_json wrote.
Result<RingPart> parse_ring_part(std::string_view text);

}  // namespace tempo::cli
