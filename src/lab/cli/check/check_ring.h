// `tempo check ring`: every interleaving of an election on a ring of a few stations.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct CheckRingArguments {
  std::string kind = "equitable";
  std::uint32_t stations = 3;
  std::uint32_t range = 2;
  std::uint32_t stages = 2;
  std::uint32_t delay = 1;   // ticks, at most
  std::uint32_t wakers = 0;  // stations that may wake up by themselves; 0: all
  std::uint32_t losses = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t crashes = 0;
  std::string variant;        // empty: the usual one of the kind
  std::uint32_t threads = 0;  // 1 or 2; 0: as many as there are cores, at most 2
  bool json = false;
};

int check_ring(const CheckRingArguments& arguments);

}  // namespace tempo::cli
