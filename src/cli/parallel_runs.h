// One piece of work for each of many runs, on several threads, with a progress bar on a terminal.
// Ctrl-C ends it early: runs that had begun are finished, no others begin.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tempo::cli {

struct Effort {
  std::uint32_t threads = 0;
  double elapsed_s = 0;
};

// Calls work(0) to work(runs - 1), each once, in any order; threads 0: one for each core.
Effort run_in_parallel(std::uint64_t runs, std::uint32_t threads, const std::string& what,
                       const std::function<void(std::uint64_t)>& work);

}  // namespace tempo::cli
