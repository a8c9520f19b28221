// Offset of a daemon's clock from this machine's raw monotonic clock.
//
// For tests, demonstrations and benchmarks that compare several daemons on one machine.
#pragma once

#include <optional>

#include "base/units.h"
#include "client/client.h"

namespace tempo::client {

struct ClockOffset {
  Nanos offset{0};       // the daemon's clock minus CLOCK_MONOTONIC_RAW
  Nanos uncertainty{0};  // of `offset`, plus or minus: half of the round trip
  bool bounded = false;  // the daemon has network time
  Nanos bound{0};        // if bounded: largest error of its clock, as the daemon reports it
};

// Makes `requests` requests and uses the quickest; nullopt: the daemon does not answer.
std::optional<ClockOffset> clock_offset(Client& client, int requests);

}  // namespace tempo::client
