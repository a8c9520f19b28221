// `tempo sim lock`: locks in a simulated network, many entries.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs, all at once.
struct SimLockArguments {
  std::string kind = "mutex";
  std::uint32_t sites = 5;
  std::uint32_t contending = 0;  // 0: all
  std::uint32_t readers = 0;     // 0: half of them, of rw
  double gamma = 0.5;
  std::uint64_t entries = 100'000;
  std::string handlers = "serial";
  double sleep = 1;
  bool outlive = false;
  double loss = 0;
  double late = 0;
  double pauses = 0;
  double crashes = 0;
  double partitions = 0;
  double doubts = 0;
  std::string variant = "corrected";
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;
  bool json = false;
};

int sim_lock(const SimLockArguments& arguments);

}  // namespace tempo::cli
