#include "cli/locks/command_cgroup.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tempo::cli {
namespace {

// Where the unified hierarchy is mounted; empty: nowhere.
std::string mount_point() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string root;
    std::string point;
    std::string skipped;
    fields >> skipped >> skipped >> skipped >> root >> point;
    if (root == "/") return point;
  }
  return "";
}

// Path of the cgroup of this process below the mount point; empty: unknown.
std::string own_path() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return "";
}

bool write_to(const std::string& path, char digit) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, &digit, 1) == 1;
  close(file);
  return written;
}

}  // namespace

CommandCgroup CommandCgroup::create() {
  CommandCgroup group;
#ifdef __SANITIZE_THREAD__
  return group;  // the sanitizer has to see every fork
#endif
  const std::string point = mount_point();
  const std::string path = own_path();
  if (point.empty() || path.empty()) return group;
  const std::string directory =
      fmt::format("{}{}{}tempo-{}", point, path, path.ends_with('/') ? "" : "/", getpid());
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return group;
  // Kernels before 5.14 cannot kill a cgroup.
  if (access((directory + "/cgroup.kill").c_str(), W_OK) != 0) {
    rmdir(directory.c_str());
    return group;
  }
  group.directory_ = directory;
  return group;
}

pid_t CommandCgroup::fork() const {
  const int directory =
      directory_.empty() ? -1 : open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return ::fork();
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<__u64>(directory);
  const auto child = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
  close(directory);
  return child >= 0 ? child : ::fork();
}

void CommandCgroup::kill() const {
  if (!directory_.empty()) (void)write_to(directory_ + "/cgroup.kill", '1');
}

void CommandCgroup::remove() const {
  if (!directory_.empty()) rmdir(directory_.c_str());
}

}  // namespace tempo::cli
