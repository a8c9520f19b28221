// The guard's process, between tempo and the command, and its messages with tempo.
#pragma once

#include <chrono>
#include <cstdint>

#include <sys/timerfd.h>
#include <sys/types.h>

#include "cli/locks/command_cgroup.h"
#include "cli/locks/guard.h"

namespace tempo::cli {

// When the keepers of a command act, as parts of the margin before the deadline. The guard asks the
// command to end when the whole margin is left and kills it when half of it is left.
inline constexpr int kWrapperPart = 4;  // tempo kills what the guard has not stopped
inline constexpr int kKernelPart = 8;   // the kernel kills the guard, and so the command

// After KILL: processes that survive for this time are reported.
inline constexpr std::chrono::nanoseconds kStuckAfter = std::chrono::milliseconds{200};
// The interval between two looks at processes that are left doubles from the first to the last.
inline constexpr std::chrono::nanoseconds kFirstLook = std::chrono::milliseconds{1};
inline constexpr std::chrono::nanoseconds kLastLook = std::chrono::milliseconds{100};

struct GuardMessage {
  enum class Kind : std::uint8_t { extend, stop, signal };
  Kind kind = Kind::extend;
  std::int64_t value = 0;  // extend: the deadline; signal: its number
};

// Message to tempo. The process that becomes the command sends its process group before it runs the
// command, so that tempo knows every group that exists, and the reason if it cannot run it. The
// guard sends the rest. A command that is too late to run sends its end itself; tempo does not wait
// for the guard's message then.
struct Report {
  enum class Kind : std::uint8_t { begins, not_run, outlived, stuck, ended };
  Kind kind = Kind::begins;
  pid_t group = 0;       // begins
  int error = 0;         // not_run: errno
  bool stopped = false;  // ended: see Guard::End
  int status = 0;        // ended: of wait()
};

// An absolute time for a timer.
itimerspec timer_at(std::chrono::nanoseconds when);

// Runs the guard and its command in this process, a fork of tempo. `line` is the socket to tempo,
// `lifeline` tempo's end of the pipe whose other end this process keeps.
[[noreturn]] void run_guard(const Guard::Options& options, const CommandCgroup& cgroup, int line,
                            int lifeline);

}  // namespace tempo::cli
