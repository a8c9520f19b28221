// A command that runs under a lock, and the guard that stops it before the lease ends.
//
// The guard is a process of its own between tempo and the command. It knows when the lease ends, by
// a clock that goes on while the machine sleeps, and is told of every extension. When the time has
// come, or tempo is gone, it stops the command's whole process group (TERM, then KILL) and only
// then lets go of the connection to tempod, so that nobody else gets the lock while the command
// still runs. It needs neither tempo nor tempod to be awake for that. A command whose time has come
// before it runs, because somebody slept on the way, is not run at all. Should the guard itself be
// killed, tempo, which still has the connection, stops the group; only who kills both at once
// leaves children of the command behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace tempo::cli {

class Guard {
 public:
  struct Options {
    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> environment;  // beside what there is
    int connection = -1;                  // to tempod: shut down when the command had to be stopped
    std::chrono::nanoseconds deadline{};  // of the lease, on CLOCK_BOOTTIME
    std::chrono::nanoseconds margin{};    // the command is stopped so long before, as `margin_of`
  };
  static Result<Guard> start(const Options& options);
  ~Guard();
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void extend(std::chrono::nanoseconds deadline) const;
  void signal(int number) const;            // for the command
  int descriptor() const { return line_; }  // can be read when `ended` has something to say

  struct End {
    bool stopped = false;  // the guard had to
    int status = 0;        // as wait() has it; of a command that never ran, 126 or 127
  };
  // Nothing: the command still runs. A guard that was killed is an end, too: its command died with
  // it, and here is waited until the command's whole group is gone.
  std::optional<End> ended();

  // How long before the end of a lease a command is stopped that starts with so much left of it.
  // Nothing: it is too late to start one.
  static std::optional<std::chrono::nanoseconds> margin_of(std::chrono::nanoseconds remaining);

 private:
  Guard(int line, pid_t process) : line_(line), process_(process) {}
  void stop_group() const;

  int line_ = -1;
  pid_t process_ = 0;
  pid_t group_ = 0;  // the command's; 0: it has not begun
};

// What a command that ran to its end exits with, as shells say it.
int exit_status_of(const Guard::End& end);

}  // namespace tempo::cli
