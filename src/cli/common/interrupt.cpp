#include "cli/common/interrupt.h"

#include <atomic>
#include <chrono>
#include <csignal>

namespace tempo::cli {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  flag = true;
  std::signal(signal, SIG_DFL);  // the second one ends the process
}

}  // namespace

InterruptGuard::InterruptGuard() {
  flag = false;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() { return flag; }

Instant steady_now() {
  return Instant{
      std::chrono::duration_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace tempo::cli
