#include "cli/parallel_runs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cli/interrupt.h"
#include "lab/report/progress.h"

namespace tempo::cli {

Effort run_in_parallel(std::uint64_t runs, std::uint32_t threads, const std::string& what,
                       const std::function<void(std::uint64_t)>& work) {
  const std::uint32_t count =
      std::max(1U, threads != 0 ? threads : std::thread::hardware_concurrency());
  std::atomic<std::uint64_t> next{0};
  report::Progress progress({.what = what, .total = runs, .unit = "runs"}, steady_now,
                            report::stderr_terminal());
  const auto started = std::chrono::steady_clock::now();
  const auto take_runs = [&] {
    for (;;) {
      const std::uint64_t number = next.fetch_add(1);
      if (number >= runs || interrupted()) return;
      work(number);
      progress.add();
    }
  };
  {
    const InterruptGuard guard;
    std::vector<std::jthread> workers;
    workers.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) workers.emplace_back(take_runs);
    while (progress.done() < runs && !interrupted()) {
      progress.draw();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  progress.finish();
  const auto ended = std::chrono::steady_clock::now();
  return {.threads = count, .elapsed_s = std::chrono::duration<double>(ended - started).count()};
}

}  // namespace tempo::cli
