// A bad link: a process that forwards frames between two interfaces of a namespace, late and out of
// order.
//
// For kernels without netem. Frames are read from one interface and written to the other after a
// random delay, so that one may overtake another. The process ends with the object or with this
// program.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "base/units.h"

namespace tempo::testbed {

struct Impairment {
  Nanos delay{0};     // delay of every frame
  Nanos back{-1};     // delay of the other direction; negative: the same
  Nanos jitter{0};    // mean of an added exponential delay
  double held = 0;    // probability that a frame is held back...
  Nanos held_for{0};  // ...for this additional time
  double twice = 0;   // probability that a frame is duplicated
  std::uint64_t seed = 1;
};

class Relay {
 public:
  Relay(const std::string& space, const std::string& near, const std::string& far,
        const Impairment& impairment);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::uint64_t carried() const;
  std::uint64_t overtaken() const;  // frames that arrived after a later one

 private:
  struct Counts {
    std::atomic<std::uint64_t> carried{0};
    std::atomic<std::uint64_t> overtaken{0};
  };
  Counts* counts_;  // shared with the process
  pid_t process_ = 0;
};

}  // namespace tempo::testbed
