#include "platform/time_daemons.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <linux/capability.h>

namespace tempo::sys {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxProcesses = 100'000;

constexpr auto kTimeDaemons = std::to_array<TimeDaemon>({
    {"chronyd", "chrony", "chrony.service"},
    {"ntpd", "ntp", "ntpsec.service"},
    {"openntpd", "openntpd", "openntpd.service"},
    {"systemd-timesyn", "systemd-timesyncd", "systemd-timesyncd.service"},
    {"ntpd-rs", "ntpd-rs", "ntpd-rs.service"},
    {"ntp-daemon", "ntpd-rs", "ntpd-rs.service"},
    {"phc2sys", "phc2sys", ""},
    {"ptp4l", "ptp4l", ""},
    {"timed", "timed", ""},
});

std::vector<fs::path> processes(const fs::path& proc) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(proc, error), end; !error && at != end; at.increment(error)) {
    const std::string id = at->path().filename();
    if (id.find_first_not_of("0123456789") == std::string::npos) found.push_back(at->path());
    if (found.size() == kMaxProcesses) break;
  }
  std::ranges::sort(found);
  return found;
}

// False only if the kernel says that the process has no right to set the clock, as in a container.
bool may_set_clock(const fs::path& process) {
  constexpr std::string_view kEffective = "CapEff:\t";
  std::ifstream status(process / "status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kEffective)) continue;
    std::uint64_t rights = 0;
    const auto parsed =
        std::from_chars(line.data() + kEffective.size(), line.data() + line.size(), rights, 16);
    return parsed.ec != std::errc{} || (rights >> CAP_SYS_TIME & 1U) != 0;
  }
  return true;
}

}  // namespace

std::span<const TimeDaemon> known_time_daemons() { return kTimeDaemons; }

std::vector<RunningTimeDaemon> running_time_daemons(const std::string& proc) {
  std::vector<RunningTimeDaemon> running;
  for (const fs::path& process : processes(proc)) {
    std::ifstream in(process / "comm");
    std::string program;
    std::getline(in, program);
    for (const TimeDaemon& known : kTimeDaemons)
      if (known.program == program)
        running.push_back(
            {known, process.filename(), known.program != "ptp4l" && may_set_clock(process)});
  }
  return running;
}

}  // namespace tempo::sys
