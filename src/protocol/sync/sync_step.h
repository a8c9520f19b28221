// A step of Sync: rules, timers and the node's clock, which its parts share (follower.h, leader.h,
// time_setter.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "machine/machine.h"
#include "protocol/clock/servo.h"
#include "protocol/clock/steered_clock.h"

namespace tempo::node {

class Sync;
class MainPartClock;
class TimeSetter;
class UtcSource;

struct SyncRules {
  Nanos interval = 1s;            // from one burst to the next
  std::uint32_t rest_after = 64;  // exchanges with one reference; then one exchange per interval
  std::uint32_t burst = 3;        // exchanges per burst, where the first ones only warm the path up
  std::uint32_t first_burst = 8;  // exchanges on first contact, all of which count
  Nanos first_spacing = 100ms;    // between exchanges of the first contact
  Nanos step_limit = 500ms;       // larger corrections are steps
  Nanos max_delay = 100ms;        // exchanges with a longer round trip are not used
  double drift = 0.15e-6;         // change of a measured rate that every bound allows for, s/s
  double rate_jump = 0;  // largest change of a clock's rate at once that every bound allows for
  double agreement = 200e-6;  // rates within this range agree
  bool follow_ups = false;    // the driver stamps departures: a FollowUp after each Echo
  Nanos stamp_grain{0};       // resolution of timestamps, e.g. 1 ms in 1985; 0: exact
};

// Largest change of the master's rate per round; the members' bounds rely on it.
inline constexpr double kMasterWander = 0.1e-6;

enum class SyncTimer : std::uint8_t { probe, settle, round, set_time, ban_expiry, count };

// Reading of the steered clock with its error bound.
struct Reading {
  // The values are those of page::Status and of libtempo.
  enum class Status : std::uint8_t {
    unsynchronized,  // network time is unknown: no bound
    holdover,        // no main master just now; the bound grows
    synchronized,    // follows the main master
    leads,           // is the main master: its clock is network time
    minority,        // its part is not the main part; the bound grows towards network time
    alone,           // never had another member: its own clock only
  };
  WallTime time{};
  WallTime earliest{};
  WallTime latest{};
  Status status = Status::unsynchronized;

  Nanos bound() const { return std::max(latest - time, time - earliest); }
  // A clock that knows nothing about network time.
  static Reading unknown(WallTime time) {
    return {.time = time, .earliest = WallTime::min(), .latest = WallTime::max()};
  }
};
std::string_view name_of(Reading::Status status);
// Whether network time is within the bounds of such a reading, as far as this node can know.
constexpr bool in_main_part(Reading::Status status) {
  return status == Reading::Status::synchronized || status == Reading::Status::leads;
}

// What the error bound of a reading consists of; the sum is the bound.
struct BoundParts {
  Nanos age{0};         // time since the newest exchange
  Nanos round_trip{0};  // what the exchanges leave open, when the newest arrived
  Nanos drift{0};       // what the clocks may have drifted since
  Nanos reference{0};   // error bound of the reference's own time
  Nanos other{0};       // holdover, objections, and a clock that is still being corrected
};

// This node's clock and the servo that steers it.
struct LocalClock {
  clock::SteeredClock steered;
  clock::Servo servo;
};

// One step of a part.
struct SyncStep {
  Turn<Sync>& turn;
  const SyncRules& rules;
  LocalClock& clock;
  Timers<SyncTimer>& timers;
  TimeSetter& setter;
  const UtcSource& utc;
  const MainPartClock& main_part;

  Instant now() const;
  WallTime shows() const { return clock.steered.at(now()); }
  void steer(const clock::Steering& steering);
  // Rounds an instant down to the resolution of timestamps.
  Instant stamp(Instant instant) const;
  // The stamp of an arrival; Instant{}: the driver supplied none.
  Instant arrival(Instant arrived) const;
};

constexpr Nanos raw_of(Instant instant) { return instant.time_since_epoch(); }
// The part of a span that a rate makes of it.
inline Nanos share_of(Nanos span, double rate) {
  return Nanos{std::llround(static_cast<double>(span.count()) * rate)};
}

}  // namespace tempo::node
