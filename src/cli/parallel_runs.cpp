#include "cli/parallel_runs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cli/interrupt.h"
#include "lab/report/progress.h"

namespace tempo::cli {

std::uint32_t workers_for(std::uint32_t threads) {
  return std::max(1U, threads != 0 ? threads : std::thread::hardware_concurrency());
}

Effort run_in_parallel(
    const Pieces& pieces, std::uint32_t workers,
    const std::function<void(std::uint32_t worker, std::uint64_t number)>& work) {
  std::atomic<std::uint64_t> next{0};
  report::Progress progress({.what = pieces.what, .total = pieces.count, .unit = pieces.unit},
                            steady_now, report::stderr_terminal());
  const auto started = std::chrono::steady_clock::now();
  const auto take_pieces = [&](std::uint32_t worker) {
    for (;;) {
      const std::uint64_t number = next.fetch_add(1);
      if (number >= pieces.count || interrupted()) return;
      work(worker, number);
      progress.add();
    }
  };
  Effort effort;
  {
    const InterruptGuard guard;
    std::vector<std::jthread> threads;
    threads.reserve(workers);
    for (std::uint32_t i = 0; i < workers; ++i) threads.emplace_back(take_pieces, i);
    while (progress.done() < pieces.count && !interrupted()) {
      progress.draw();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    for (std::jthread& thread : threads) thread.join();
    effort.interrupted = progress.done() < pieces.count;
  }
  progress.finish();
  const auto ended = std::chrono::steady_clock::now();
  effort.elapsed_s = std::chrono::duration<double>(ended - started).count();
  return effort;
}

}  // namespace tempo::cli
