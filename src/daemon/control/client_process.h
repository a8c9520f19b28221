// The process of a client: whether it still runs, and an identity that no other process has.
//
// The identity is the number of the process and its start time, so a later process with the same
// number has another one. It means nothing after a boot of the kernel.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

#include "platform/descriptor.h"

namespace tempo::daemon {

class ClientProcess {
 public:
  // Unset: no such process runs, or this process may not observe it.
  static std::optional<ClientProcess> find(pid_t process);

  std::uint64_t identity() const { return identity_; }  // never 0
  bool runs() const;
  int descriptor() const { return pidfd_.number(); }  // to poll for POLLIN: the process has ended

 private:
  ClientProcess(sys::Descriptor pidfd, std::uint64_t identity)
      : pidfd_(std::move(pidfd)), identity_(identity) {}

  sys::Descriptor pidfd_;
  std::uint64_t identity_;
};

}  // namespace tempo::daemon
