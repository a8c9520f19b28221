// Detects interfaces and addresses that appear or disappear.
//
// With a route socket the kernel reports changes immediately. Without one (simulator, strict
// filter) `changed` compares the addresses. In both cases only a real difference counts: the kernel
// also reports events that change nothing.
#pragma once

#include <optional>
#include <vector>

#include "platform/descriptor.h"
#include "platform/interfaces.h"

namespace tempo::sys {

class InterfaceWatch {
 public:
  InterfaceWatch();  // records the current addresses

  // Poll it for POLLIN, then call `changed`. Unset: no route socket.
  std::optional<int> descriptor() const;

  // True if the addresses differ from those last known. False if the kernel does not answer: the
  // last good list stays, and the next call compares again. Does not block.
  bool changed();

 private:
  void drain();

  Descriptor route_;
  std::vector<InterfaceAddress> known_;
};

}  // namespace tempo::sys
