// What each foreign interface says for each status of the time page.
//
// Programs that do not know tempo get its time through other interfaces, the doors: the kernel's
// clock, NTP, ClockBound's shared memory and chrony's socket. A door has fewer states than tempo,
// so one table translates: doc/reference/time.md shows it, and a test compares the two. A door
// claims synchronized time only while the error bound is at most the limit `claims-limit-ms`.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/page_content.h"
#include "base/units.h"

namespace tempo::doors {

inline constexpr std::uint8_t kStratum = 10;  // of network time, as chrony's `local`
inline constexpr std::uint8_t kStratumUnsynchronized = 16;
enum class Leap : std::uint8_t { none = 0, unsynchronized = 3 };  // NTP's leap indicator
enum class ClockBound : std::int32_t { unknown = 0, synchronized = 1, free_running = 2 };

struct DoorStatus {
  bool claims = false;  // the door states a time and its error bound
  std::uint8_t stratum = kStratumUnsynchronized;
  Leap leap = Leap::unsynchronized;
  ClockBound clockbound = ClockBound::unknown;

  bool operator==(const DoorStatus&) const = default;
};

// The row of the table; `bound` above `limit`: that of unsynchronized time.
DoorStatus door_status(page::Status status, Nanos bound, Nanos limit);

std::string_view name_of(page::Status status);

// The largest distance of the best reading from an end of the interval; Nanos::max(): no interval.
Nanos bound_of(const page::Reading& reading);

}  // namespace tempo::doors
