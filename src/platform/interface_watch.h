// Notices that interfaces or their addresses have come or gone.
//
// With a route socket the kernel tells at once; without one (a simulator, a strict filter) whoever
// asks is told by comparison. Either way only a real difference counts: the kernel talks about much
// that changes nothing.
#pragma once

#include <optional>
#include <vector>

#include "platform/descriptor.h"
#include "platform/interfaces.h"

namespace tempo::sys {

class InterfaceWatch {
 public:
  InterfaceWatch();  // remembers what there is now; always succeeds

  // To poll for POLLIN, if there is one; then ask `changed`.
  std::optional<int> descriptor() const;

  // Whether what there is differs from what there was at the last call. Does not block.
  bool changed();

 private:
  void drain();

  Descriptor route_;
  std::vector<InterfaceAddress> known_;
};

}  // namespace tempo::sys
