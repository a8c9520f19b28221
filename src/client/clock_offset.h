// How a daemon's clock stands to this machine's raw monotonic clock.
//
// For those who compare several daemons on one machine: tests, demonstrations, benchmarks.
#pragma once

#include <optional>

#include "base/units.h"
#include "client/client.h"

namespace tempo::client {

struct ClockOffset {
  Nanos offset{0};       // what it shows beyond CLOCK_MONOTONIC_RAW
  Nanos doubt{0};        // either way, by the time the question took
  bool bounded = false;  // it has network time...
  Nanos bound{0};        // ...and is off by no more, as it says
};

// The quickest of some questions; nothing if the daemon does not answer.
std::optional<ClockOffset> clock_offset(Client& client, int questions);

}  // namespace tempo::client
