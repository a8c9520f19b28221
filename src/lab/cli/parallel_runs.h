// Numbered pieces of work on several threads, with a progress bar on a terminal. Ctrl-C ends the
// work early: pieces that have begun are finished, no others begin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tempo::cli {

struct Pieces {
  std::uint64_t count = 0;
  std::string what;           // for the progress bar
  std::string unit = "runs";  // of the count, for the progress bar
};

struct Effort {
  double elapsed_s = 0;
  bool interrupted = false;  // Ctrl-C; some pieces were not done
};

inline constexpr std::uint32_t kMaxThreads = 256;  // largest value of --threads

// An error message for a value of --threads above kMaxThreads; unset: valid.
std::optional<std::string> why_not_threads(std::uint32_t threads);

// Number of workers for a value of --threads; 0: one for each core.
std::uint32_t workers_for(std::uint32_t threads);

// Calls work(worker, number) once for each number below pieces.count, in any order. Each worker,
// numbered from 0, does one piece after another.
Effort run_in_parallel(const Pieces& pieces, std::uint32_t workers,
                       const std::function<void(std::uint32_t worker, std::uint64_t number)>& work);

// The same without progress bar and InterruptGuard (interrupt.h): the caller has them. The waiting
// thread calls `meanwhile` every 20 ms.
void distribute(std::uint64_t count, std::uint32_t workers,
                const std::function<void(std::uint32_t worker, std::uint64_t number)>& work,
                const std::function<void()>& meanwhile);

}  // namespace tempo::cli
