// What this machine has to offer, by a criterion: the larger the better.
//
//   load           the less there is to do for each processor, the better
//   free-memory    kilobytes that can be had
//   uptime         seconds since the kernel booted
//   clock-quality  the smaller the bound of the clock's error, the better
//   id             equal for all: the larger host id wins
//   random         drawn once; no draw outdoes another by so much that it would unseat it
//   weight=N       N
//   cmd=COMMAND    the whole number that the command prints
//
// Load, memory and uptime are read where the kernel says them, or where TEMPO_PROC says: a
// container that has the host's /proc elsewhere, or a test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace tempo::cli {

// Of a clock that is wrong by at most so much.
std::int64_t clock_capacity(std::int64_t bound_ns);

class CapacityMeter {
 public:
  struct Places {
    std::string socket{};        // of tempod
    std::string proc = "/proc";  // where the kernel tells of itself
  };
  // A sentence says what is wrong with the words; then the first measurement, which may take a
  // while if it is a command's.
  static Result<CapacityMeter> create(const std::string& criterion, Places places);
  ~CapacityMeter();
  CapacityMeter(CapacityMeter&& other) noexcept;
  CapacityMeter& operator=(CapacityMeter&&) = delete;
  CapacityMeter(const CapacityMeter&) = delete;
  CapacityMeter& operator=(const CapacityMeter&) = delete;

  const std::string& criterion() const { return criterion_; }  // without its value
  std::int64_t capacity() const { return capacity_; }          // as last measured
  bool changes() const;

  // Begins to measure anew; whether there is a new value now. A command's comes when `descriptor`
  // can be read; one that says nothing of use leaves the old value.
  bool measure();
  int descriptor() const { return pipe_; }  // -1: nothing is under way
  bool take();

 private:
  CapacityMeter() = default;
  Result<std::int64_t> read_now() const;
  Result<void> start_command();

  std::string criterion_;
  std::string command_;
  Places places_;
  std::int64_t capacity_ = 0;
  int pipe_ = -1;
  pid_t child_ = 0;
  std::string said_;  // by the command so far, at most kMaxSaid
};

}  // namespace tempo::cli
