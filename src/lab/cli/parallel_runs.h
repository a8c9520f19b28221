// Many numbered pieces of work on several threads, with a progress bar on a terminal. Ctrl-C ends
// it early: pieces that had begun are finished, no others begin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tempo::cli {

struct Pieces {
  std::uint64_t count = 0;
  std::string what;           // for the progress bar
  std::string unit = "runs";  // likewise
};

struct Effort {
  double elapsed_s = 0;
  bool interrupted = false;  // not all was done
};

inline constexpr std::uint32_t kMaxThreads = 256;  // that a command may be asked for

// Why a command refuses so many; nothing if it does not.
std::optional<std::string> why_not_threads(std::uint32_t threads);

// As asked for; 0: one for each core.
std::uint32_t workers_for(std::uint32_t threads);

// Calls work(worker, number) for each number below pieces.count once, in any order; each worker,
// from 0, does one piece after another.
Effort run_in_parallel(const Pieces& pieces, std::uint32_t workers,
                       const std::function<void(std::uint32_t worker, std::uint64_t number)>& work);

// The same under somebody else's bar and hand on Ctrl-C (interrupt.h). `meanwhile` is called now
// and then by the thread that waits.
void share_out(std::uint64_t count, std::uint32_t workers,
               const std::function<void(std::uint32_t worker, std::uint64_t number)>& work,
               const std::function<void()>& meanwhile);

}  // namespace tempo::cli
