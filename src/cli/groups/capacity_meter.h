// Measures the capacity of this machine by a criterion; the candidate with the largest capacity
// wins.
//
//   load           falls as the load per processor rises
//   free-memory    available memory in KiB
//   uptime         seconds since the kernel booted
//   clock-quality  falls as the error bound of the clock rises
//   id             equal on all machines: the larger host id wins
//   random         drawn once; two draws differ by less than the margin for a change of leader
//   weight=N       N
//   cmd=COMMAND    the whole number that the command prints
//
// Load, memory and uptime are read from /proc, or from the directory that TEMPO_PROC names: for a
// container that has the host's /proc elsewhere, and for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace tempo::cli {

// Capacity of a clock whose error is at most `bound_ns`.
std::int64_t clock_capacity(std::int64_t bound_ns);

// A capacity in the unit of its criterion: "load 37%", "9645 MiB", "4 d 1 h", "12.3 us", "17".
std::string capacity_text(const std::string& criterion, std::int64_t capacity);

class CapacityMeter {
 public:
  struct Places {
    std::string socket{};        // of tempod
    std::string proc = "/proc";  // of the kernel
  };
  // Parses the criterion and measures for the first time, which may take a while for a command. The
  // error says what is wrong and how to correct it.
  static Result<CapacityMeter> create(const std::string& criterion, Places places);
  ~CapacityMeter();
  CapacityMeter(CapacityMeter&& other) noexcept;
  CapacityMeter& operator=(CapacityMeter&&) = delete;
  CapacityMeter(const CapacityMeter&) = delete;
  CapacityMeter& operator=(const CapacityMeter&) = delete;

  const std::string& criterion() const { return criterion_; }  // without its value
  std::int64_t capacity() const { return capacity_; }          // of the last measurement
  bool changes() const;                                        // false: measuring is pointless

  // Measures again; returns whether there is a new value. A command is only started: its value
  // arrives when `descriptor` is readable.
  bool measure();
  int descriptor() const { return pipe_; }  // -1: no command runs
  pid_t process() const { return child_; }  // of the command; 0: none runs
  // Reads the output of the command; true: there is a new value, false: the command still runs. An
  // error keeps the previous value.
  Result<bool> take();

 private:
  CapacityMeter() = default;
  Result<std::int64_t> read_now() const;
  Result<void> start_command();
  int end_command();  // the status of wait()
  std::string command_error(const std::string& reason) const;

  std::string criterion_;
  std::string command_;
  Places places_;
  std::int64_t capacity_ = 0;
  int pipe_ = -1;
  pid_t child_ = 0;     // 0: no command runs
  std::string output_;  // of the command so far, at most kMaxOutput bytes
};

}  // namespace tempo::cli
