// A bad wire: a process that carries frames between two interfaces of a namespace, late and out of
// order.
//
// For kernels without netem. Frames are taken off one interface and put on the other after a delay
// drawn for each, so that one may overtake another. The process ends with the object, or with us.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "base/units.h"

namespace tempo::testbed {

struct Weather {
  Nanos delay{0};     // of every frame
  Nanos back{-1};     // of those the other way; negative: the same
  Nanos jitter{0};    // mean of what is added, exponential
  double held = 0;    // probability that a frame is held back...
  Nanos held_for{0};  // ...for as long as this more
  double twice = 0;   // probability that it comes twice
  std::uint64_t seed = 1;
};

class Relay {
 public:
  Relay(const std::string& space, const std::string& near, const std::string& far,
        const Weather& weather);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::uint64_t carried() const;
  std::uint64_t overtaken() const;  // frames that a later one came before

 private:
  struct Counts {
    std::atomic<std::uint64_t> carried{0};
    std::atomic<std::uint64_t> overtaken{0};
  };
  Counts* counts_;  // shared with the process
  pid_t process_ = 0;
};

}  // namespace tempo::testbed
