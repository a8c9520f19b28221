// `tempo sim ring`: elections on a ring, by the machines that ship in a simulated network or by the
// fast Monte Carlo without them; and `tempo sim merge`, which puts the shards of one order
// together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct SimRingArguments {
  std::string kind = "equitable";
  std::uint32_t stations = 8;
  std::uint32_t range = 16;
  std::uint32_t stages = 30;
  double gamma = 1;
  double loss = 0;
  double duplicate = 0;
  std::uint32_t crash = 0;
  std::uint32_t faulty = 0;
  std::uint32_t candidates = 0;
  bool first_is_fast = false;
  std::string variant;  // empty: the usual one of the kind
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  bool fast = false;
  std::string shard;  // "2/4"; empty: everything
  bool trace = false;
  std::string diagram;  // a file, or - for the terminal
  bool json = false;
};

struct SimMergeArguments {
  std::vector<std::string> files;
  bool json = false;
};

int sim_ring(const SimRingArguments& arguments);
int sim_merge(const SimMergeArguments& arguments);

}  // namespace tempo::cli
