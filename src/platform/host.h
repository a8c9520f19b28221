// Who this host is, and the kernel's chance.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/random.h"

namespace tempo::sys {

std::string host_name();  // "localhost" if it has none

struct MachineId {
  enum class Source : std::uint8_t { machine_id, state_file, host_name };
  std::string text;  // 32 hexadecimal digits, or the host's name
  Source source = Source::host_name;
};

struct MachineIdOptions {
  std::string machine_id = "/etc/machine-id";
  std::string state_directory{};  // where one is kept that had to be made up; empty: nowhere
};

// The same after every restart: the system's, else the one in the state directory, made up at the
// first call, else the host's name.
MachineId machine_id(const MachineIdOptions& options);

// What goes on the wire. The text itself does not: it is this machine's secret of a kind. The same
// everywhere for the same text, never kNoHost.
HostId host_id(const std::string& machine_id);

// Chance of the daemon: asks the kernel each time, so that a child draws other numbers.
class KernelDraw final : public Draw {
 public:
  std::uint64_t below(std::uint64_t limit) override;
};

std::uint64_t kernel_random();  // 64 bits

}  // namespace tempo::sys
