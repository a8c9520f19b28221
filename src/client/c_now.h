// Converts a reading of network time for the C functions.
#pragma once

#include "tempo/time.h"
#include "tempo/time_c.h"

namespace tempo {

inline tempo_now c_now(const Now& now) {
  const auto since_1970 = [](NetworkTime time) { return time.time_since_epoch().count(); };
  return {.earliest_ns = since_1970(now.earliest),
          .latest_ns = since_1970(now.latest),
          .time_ns = since_1970(now.time),
          .status = static_cast<tempo_time_status>(now.status),
          .generation = now.generation};
}

}  // namespace tempo
