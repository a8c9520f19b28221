// `tempo check lock`: every interleaving of a lock of a few sites.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct CheckLockArguments {
  std::string kind = "mutex";
  std::uint32_t sites = 3;
  std::uint32_t contending = 0;  // 0: 2, or all of the sites if there are fewer
  std::uint32_t readers = 0;     // of rw, where 0 is 1, and of lease
  std::uint32_t entries = 1;
  std::uint32_t delay = 1;     // ticks, at most
  std::uint32_t hold = 1;      // likewise
  std::uint32_t handling = 0;  // ticks of each message; not of lease
  std::uint32_t crashes = 0;
  std::uint32_t restarts = 0;
  std::uint32_t losses = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t pauses = 0;
  std::uint32_t lease = 5;  // ticks; this and the next two of kind lease
  std::uint32_t changes = 0;
  bool any_order = false;
  std::string variant = "corrected";
  std::string memory = "4G";
  std::uint32_t threads = 0;  // 1 or 2; 0: as many as there are cores, at most 2
  bool json = false;
};

int check_lock(const CheckLockArguments& arguments);

}  // namespace tempo::cli
