// The doors that tempod serves itself: ClockBound's shared memory and chrony's socket.
//
// Both describe CLOCK_REALTIME, so that they hold whether tempod steers it or not: the bound
// contains the distance of that clock from network time. Each is off unless it is configured
// (`doors.clockbound`, `doors.chrony`). No call blocks.
#pragma once

#include <optional>
#include <string>

#include "api/clockbound.h"
#include "api/page_content.h"
#include "base/result.h"
#include "platform/clocks/stamps.h"
#include "platform/descriptor.h"

namespace tempo::daemon {

class Doors {
 public:
  static constexpr Nanos kVoidAfter = 1000s;  // as ClockBound's own daemon
  // Largest drift of a clock that tempod steers, and of one that another program may slew.
  static constexpr std::uint32_t kSteeredDriftPpb = 50'000;
  static constexpr std::uint32_t kForeignDriftPpb = 1'000'000;

  struct Options {
    std::string clockbound{};  // path of the segment; empty: none
    std::string chrony{};      // path of chronyd's socket; empty: none
    bool steered = false;      // tempod steers CLOCK_REALTIME
    Nanos limit = 1s;          // largest error bound of synchronized time
  };
  static Result<Doors> open(const Options& options);

  // `kernel`: a reading of CLOCK_REALTIME; `network`: network time at its raw time; `monotonic`:
  // CLOCK_MONOTONIC_COARSE, read before both.
  void publish(const sys::Bracket& kernel, const page::Reading& network, Nanos monotonic);

  // Why chronyd gets no samples; empty: it gets them.
  const std::string& error() const { return error_; }

 private:
  explicit Doors(const Options& options) : options_(options) {}
  void send_sample(const sys::Bracket& kernel, const page::Reading& network);

  Options options_;
  std::optional<doors::ClockBoundWriter> clockbound_;
  sys::Descriptor socket_;
  std::string error_;
};

}  // namespace tempo::daemon
