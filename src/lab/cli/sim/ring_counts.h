// Results of many ring elections as counts. Counts of several machines can be added, and the JSON
// contains everything that the addition needs.
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

// The options of one `tempo-lab sim ring`; shards with different options are not added.
struct RingPlan {
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
  bool fast = false;  // drawn by the Monte Carlo instead of simulated
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;  // of all shards together

  bool operator==(const RingPlan&) const = default;
};

struct RingCounts {
  std::uint64_t runs = 0;
  Histogram leaders{};
  Histogram rounds;  // anonymous: phases
  Histogram productive;
  Histogram first_phase_leaders;
  std::uint64_t hops = 0;  // anonymous: messages
  std::uint64_t announcement_hops = 0;
  std::uint64_t bits = 0;
  std::uint64_t buffer_max = 0;
  std::uint64_t elections = 0;  // election numbers used; more than runs only with crashes or faults
  std::uint64_t reelections = 0;
  std::uint64_t faulty_again = 0;
  std::uint64_t violations = 0;
  std::uint64_t hash = 0;           // sum over all runs, independent of their order
  std::vector<std::uint64_t> wins;  // by station

  RingCounts& operator+=(const RingCounts& other);
};

// The whole answer; `shard` is empty or like "2/4".
Json ring_json(const RingPlan& plan, const RingCounts& counts, const std::string& shard);
std::string ring_table(const RingPlan& plan, const RingCounts& counts);

struct RingPart {
  RingPlan plan;
  RingCounts counts;
  std::string shard;
};
// Reads the output of `tempo-lab sim ring --json`.
Result<RingPart> parse_ring_part(std::string_view text);

}  // namespace tempo::cli
