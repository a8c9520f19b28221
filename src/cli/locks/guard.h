// A command that runs under a lock, and the guard that stops it before the lease ends.
//
// The guard is a process between tempo and the command. It knows the end of the lease on a clock
// that also runs while the machine is suspended, and receives every extension. At the end of the
// lease, or when tempo dies, it stops the process group of the command (TERM, then KILL) and only
// then closes the connection to tempod: no other machine gets the lock while the command runs. The
// guard needs neither tempo nor tempod for this. A command whose lease ends before it starts is not
// run. If the guard is killed, tempo, which still has the connection, stops the process group; only
// killing both at once leaves children of the command behind.
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
    std::vector<std::pair<std::string, std::string>> environment;  // added to the environment
    int connection = -1;                  // to tempod; shut down after the command was stopped
    std::chrono::nanoseconds deadline{};  // end of the lease, on CLOCK_BOOTTIME
    std::chrono::nanoseconds margin{};    // time before it at which the command is stopped
  };
  static Result<Guard> start(const Options& options);
  ~Guard();
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void extend(std::chrono::nanoseconds deadline) const;
  void signal(int number) const;            // sends a signal to the command
  int descriptor() const { return line_; }  // readable when `ended` has a result

  struct End {
    bool stopped = false;  // the guard stopped the command
    int status = 0;        // of wait(); 126 or 127 if the command could not be run
    std::string error{};   // why the command could not be run; empty: it was run
  };
  // nullopt: the command still runs. A killed guard counts as an end: its command died with it, and
  // this call waits until the process group of the command is gone.
  std::optional<End> ended();

  // The margin for a command that starts with `remaining` of its lease left; nullopt: it is too
  // late to start a command.
  static std::optional<std::chrono::nanoseconds> margin_of(std::chrono::nanoseconds remaining);

 private:
  Guard(int line, pid_t process, std::string command)
      : line_(line), process_(process), command_(std::move(command)) {}
  void stop_group() const;

  int line_ = -1;  // socket to the guard
  pid_t process_ = 0;
  pid_t group_ = 0;      // process group of the command; 0: it has not started
  std::string command_;  // its name
  std::string error_;    // why the command could not be run; empty: no error
};

// Exit status of a command that ended by itself, as shells give it.
int exit_status_of(const Guard::End& end);

}  // namespace tempo::cli
