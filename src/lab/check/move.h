// The moves of a world: an event with the random draws and network faults in it.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace tempo::check {

enum class Happening : std::uint8_t {
  start,
  deliver,
  wake,
  command,
  tick,
  crash,
  restart,
  pause,
  resume,
  gain,  // a clock runs ahead by a tick
  lag,   // a clock stays behind by a tick
  miss,  // a message arrived while the node was not running
};

constexpr bool is_fault(Happening what) {
  return what == Happening::crash || what == Happening::restart || what == Happening::pause ||
         what == Happening::gain || what == Happening::lag;
}

// A machine takes a step in this event.
constexpr bool is_step(Happening what) {
  return what == Happening::start || what == Happening::restart || what == Happening::deliver ||
         what == Happening::wake || what == Happening::command;
}

// One event with its outcome.
struct Move {
  Happening what = Happening::tick;
  NodeId node = kNobody;
  std::uint32_t detail = 0;   // number of the timer, the command or the flight
  std::uint32_t outcome = 0;  // outcome of the machine's step; see Parts::outcome
  std::uint64_t lost = 0;     // bit i: the i-th message sent in the step is lost
  std::uint64_t twice = 0;    // bit i: the i-th message is duplicated
};

}  // namespace tempo::check
