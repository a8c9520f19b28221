// What can happen in a world, and one such thing with how chance and the network took it.
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
  miss,  // a message arrived while the node did not run
};

constexpr bool is_fault(Happening what) {
  return what == Happening::crash || what == Happening::restart || what == Happening::pause ||
         what == Happening::gain || what == Happening::lag;
}

// Whether a machine takes a step, rather than its surroundings.
constexpr bool is_step(Happening what) {
  return what == Happening::start || what == Happening::restart || what == Happening::deliver ||
         what == Happening::wake || what == Happening::command;
}

// One thing that happened, and how chance and the network took it.
struct Move {
  Happening what = Happening::tick;
  NodeId node = kNobody;
  std::uint32_t detail = 0;   // the timer, the command, or the flight
  std::uint32_t outcome = 0;  // of the machine's step
  std::uint64_t lost = 0;     // bit i: the step's send i
  std::uint64_t twice = 0;
};

}  // namespace tempo::check
