#include "cli/common/noted_signals.h"

#include <csignal>
#include <utility>

namespace tempo::cli {
namespace {

volatile std::sig_atomic_t g_signal = 0;
void note(int number) { g_signal = number; }

}  // namespace

void note_signals() {
  struct sigaction action{};
  action.sa_handler = note;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

int noted_signal() { return std::exchange(g_signal, 0); }

}  // namespace tempo::cli
