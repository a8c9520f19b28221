// A command that runs under a lock, and the guard that stops it before the lease ends.
//
// The guard is a process between tempo and the command. It knows the end of the lease on a clock
// that also runs while the machine is suspended, and receives every extension. At the end of the
// lease, or when tempo dies, it stops the command and all its descendants (TERM, then KILL) and
// only then closes the connection to tempod: no other machine gets the lock while the command runs.
// A command whose lease ends before it starts is not run.
//
// Nobody has to run for the command to end: if the guard is stopped, the kernel kills it before the
// lease ends (a POSIX timer), and with it the command (PDEATHSIG) and its process group (a pipe
// whose owner is the group). tempo keeps the deadline too: it kills what a guard that is stopped or
// dead has left. Only processes that left the group outlive the lease if both are stopped, or if
// they may not be killed; End names them. A command that ends before its descendants has ended when
// they have.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "cli/locks/command_cgroup.h"
#include "cli/locks/processes.h"
#include "platform/descriptor.h"

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

  // An earlier deadline says that the lock is lost: the command is stopped at once. Nobody else
  // gets the lock before the deadline that was given first, so only that one decides what was too
  // late. `connection`: the new connection to tempod, which the guard keeps and shuts down from now
  // on; -1: the same.
  void extend(std::chrono::nanoseconds deadline, int connection = -1);
  void stop() const;                                   // stops the command before the lease ends
  void signal(int number) const;                       // sends a signal to the command
  int descriptor() const { return events_.number(); }  // readable when `ended` must be called

  struct End {
    bool stopped = false;           // the command was stopped
    int status = 0;                 // of wait(); 126 or 127 if the command could not be run
    std::string error{};            // why the command could not be run; empty: it was run
    std::vector<Process> left{};    // could not be stopped and still run; the lease is over
    std::vector<Process> ran_on{};  // gone now, perhaps only since the lease was over
  };
  // nullopt: the command or a descendant still runs. `spared` is a child of the caller that does
  // not belong to the command, or 0.
  std::optional<End> ended(pid_t spared = 0);

  // Processes that run although the command has ended, or although they were killed. The lock stays
  // held for them.
  struct Left {
    bool killed = false;
    std::vector<Process> processes{};
  };
  std::optional<Left> left();  // once for each case, after `ended`

  // The margin for a command that starts with `remaining` of its lease left; nullopt: it is too
  // late to start a command.
  static std::optional<std::chrono::nanoseconds> margin_of(std::chrono::nanoseconds remaining);

 private:
  struct Takeover {  // the guard is dead; this process stops what is left
    std::chrono::nanoseconds at{};
    std::chrono::nanoseconds look{};  // interval to the next round
    bool first = true;                // no round has been done
    bool late = false;                // a round has been done after the end of the lease
    bool by_itself = false;           // nothing was left to be stopped
    bool said = false;                // `left` has reported survivors
    std::optional<int> status{};      // of the command; unset: unknown
    std::vector<Process> ran_on{};    // see End
  };

  explicit Guard(const Options& options);
  void wake_at(std::chrono::nanoseconds when) const;
  void wait_for_guard();
  void take_over();
  std::optional<End> stop_all(pid_t spared);

  sys::Descriptor line_;               // socket to the guard
  sys::Descriptor lifeline_;           // closed at the other end: the guard is dead
  sys::Descriptor timer_;              // when `ended` must act
  sys::Descriptor events_;             // readable when `line_` or `timer_` is
  pid_t process_ = 0;                  // the guard; 0: it has been reaped
  pid_t group_ = 0;                    // the command, and its process group; 0: it has not started
  std::string command_;                // its name
  std::string error_;                  // why the command could not be run; empty: no error
  std::chrono::nanoseconds deadline_;  // of the lease
  std::chrono::nanoseconds margin_;
  std::vector<pid_t> others_;  // children of this process before the guard
  CommandCgroup cgroup_;
  std::optional<Left> left_;  // not yet taken by the caller
  std::optional<Takeover> takeover_;
};

// "the command has ended, but 1 of its processes still runs: job (pid 7)".
std::string left_text(const Guard::Left& left);
// "1 process of the command could not be stopped: ...", for an end with processes that are left or
// ran on.
std::string ran_on_text(const Guard::End& end);

// Exit status of a command that ended by itself, as shells give it.
int exit_status_of(const Guard::End& end);

}  // namespace tempo::cli
