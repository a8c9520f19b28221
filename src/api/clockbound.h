// ClockBound's shared memory, version 2, as its writer: the bound of CLOCK_REALTIME for programs
// with the ClockBound client, such as YugabyteDB.
//
// A file of 80 bytes in native byte order:
//
//   0  magic number and version, 8 bytes     16  as-of and void-after, two timespec of
//   8  u32  size                                 CLOCK_MONOTONIC_COARSE
//  12  u16  version                          48  i64  bound in ns at as-of    56  u64  disruption
//  marker 14  u16  generation: odd while a write    64  u32  largest drift in ppb    68  i32 status
//           is under way; never 0 again      72  u8   disruption marker is supported; padding
//
// A reader copies the file and starts again if the generation was odd or has changed. After
// void-after it takes the status as unknown.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "api/door_status.h"
#include "base/result.h"
#include "base/units.h"

namespace tempo::doors {

inline constexpr std::size_t kClockBoundBytes = 80;

struct ClockBoundState {
  Nanos as_of{0};       // CLOCK_MONOTONIC_COARSE
  Nanos void_after{0};  // the same; the reader trusts nothing later
  Nanos bound{0};       // error bound of CLOCK_REALTIME at `as_of`
  std::uint32_t max_drift_ppb = 0;
  ClockBound status = ClockBound::unknown;
};

class ClockBoundWriter {
 public:
  // Continues an existing segment, so that its readers see the new writer, or creates it. One
  // writer at a time.
  static Result<ClockBoundWriter> open(const std::string& path);
  ~ClockBoundWriter();  // leaves the status unknown
  ClockBoundWriter(ClockBoundWriter&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)) {}
  ClockBoundWriter& operator=(ClockBoundWriter&&) = delete;
  ClockBoundWriter(const ClockBoundWriter&) = delete;
  ClockBoundWriter& operator=(const ClockBoundWriter&) = delete;

  void write(const ClockBoundState& state);

 private:
  struct Segment;
  explicit ClockBoundWriter(Segment* memory) : memory_(memory) {}

  Segment* memory_;
};

}  // namespace tempo::doors
