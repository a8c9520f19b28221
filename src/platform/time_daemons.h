// Other programs that steer the system clock, and their systemd units. Only one program may steer a
// clock.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tempo::sys {

struct TimeDaemon {
  std::string_view program;  // as the kernel names its processes: at most fifteen characters
  std::string_view name;     // as users know it
  std::string_view unit;     // empty: none that 'tempo adopt' stops
};
// All that tempo knows.
std::span<const TimeDaemon> known_time_daemons();

struct RunningTimeDaemon {
  TimeDaemon daemon;
  std::string process;       // its id
  bool steers_clock = true;  // false: it steers the clock of a network card, or has no right to set
                             // the system clock
};
// From `proc`/PID/comm and `proc`/PID/status, in the order of the ids as text; at most 100,000
// processes are looked at.
std::vector<RunningTimeDaemon> running_time_daemons(const std::string& proc);

}  // namespace tempo::sys
