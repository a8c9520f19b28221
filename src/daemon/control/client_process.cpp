#include "daemon/control/client_process.h"

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tempo::daemon {
namespace {

constexpr int kStartTime = 22;         // field of /proc/PID/stat, in clock ticks since the boot
constexpr int kFirstAfterName = 3;     // the name in parentheses is field 2 and may contain spaces
constexpr unsigned kProcessBits = 22;  // no number of a process is longer

// 0: unknown.
std::uint64_t start_time(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  if (!std::getline(file, text)) return 0;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = kFirstAfterName; i < kStartTime; ++i) fields >> field;
  std::uint64_t ticks = 0;
  return fields >> ticks ? ticks : 0;
}

}  // namespace

std::optional<ClientProcess> ClientProcess::find(pid_t process) {
  if (process <= 0) return std::nullopt;
  sys::Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (pidfd.number() < 0) return std::nullopt;
  const std::uint64_t started = start_time(process);
  ClientProcess found(std::move(pidfd),
                      started << kProcessBits | static_cast<std::uint64_t>(process));
  // If it runs now, the number named no other process when its start time was read.
  if (started == 0 || !found.runs()) return std::nullopt;
  return found;
}

bool ClientProcess::runs() const {
  pollfd end{pidfd_.number(), POLLIN, 0};
  return poll(&end, 1, 0) == 0;
}

}  // namespace tempo::daemon
