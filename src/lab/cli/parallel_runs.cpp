#include "lab/cli/parallel_runs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "lab/report/progress.h"

namespace tempo::cli {
namespace {

// For a command that runs as part of another one, which has threads and draws progress.
Effort run_on_this_thread(
    const Pieces& pieces,
    const std::function<void(std::uint32_t worker, std::uint64_t number)>& work) {
  std::uint64_t number = 0;
  for (; number < pieces.count && !interrupted(); ++number) work(0, number);
  return {.interrupted = number < pieces.count};
}

}  // namespace

std::optional<std::string> why_not_threads(std::uint32_t threads) {
  if (threads <= kMaxThreads) return std::nullopt;
  return fmt::format("--threads must be from 0 (one for each core) to {}, not {}", kMaxThreads,
                     threads);
}

std::uint32_t workers_for(std::uint32_t threads) {
  if (is_captured()) return 1;
  return std::max(1U, threads != 0 ? threads : std::thread::hardware_concurrency());
}

void distribute(std::uint64_t count, std::uint32_t workers,
                const std::function<void(std::uint32_t worker, std::uint64_t number)>& work,
                const std::function<void()>& meanwhile) {
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::condition_variable ended;
  std::uint32_t working = workers;  // under the mutex
  const auto do_pieces = [&](std::uint32_t worker) {
    for (;;) {
      const std::uint64_t number = next.fetch_add(1);
      if (number >= count || interrupted()) break;
      work(worker, number);
    }
    const std::lock_guard lock(mutex);
    if (--working == 0) ended.notify_one();
  };
  std::vector<std::jthread> threads;
  threads.reserve(workers);
  for (std::uint32_t i = 0; i < workers; ++i) threads.emplace_back(do_pieces, i);
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return working == 0; })) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
}

Effort run_in_parallel(
    const Pieces& pieces, std::uint32_t workers,
    const std::function<void(std::uint32_t worker, std::uint64_t number)>& work) {
  if (is_captured()) return run_on_this_thread(pieces, work);
  report::Progress progress({.what = pieces.what, .total = pieces.count, .unit = pieces.unit},
                            steady_now, report::stderr_terminal());
  const auto started = std::chrono::steady_clock::now();
  Effort effort;
  {
    const InterruptGuard guard;
    distribute(
        pieces.count, workers,
        [&](std::uint32_t worker, std::uint64_t number) {
          work(worker, number);
          progress.add();
        },
        [&] { progress.draw(); });
    effort.interrupted = progress.done() < pieces.count;
  }
  progress.finish();
  const auto ended = std::chrono::steady_clock::now();
  effort.elapsed_s = std::chrono::duration<double>(ended - started).count();
  return effort;
}

}  // namespace tempo::cli
