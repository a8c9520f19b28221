// Identity of this host, and random numbers from the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/random.h"

namespace tempo::sys {

std::string host_name();  // "localhost" if the host has no name

struct MachineId {
  enum class Source : std::uint8_t { machine_id, state_file, host_name };
  std::string text;  // 32 hexadecimal digits, or the host name
  Source source = Source::host_name;
};

struct MachineIdOptions {
  std::string machine_id = "/etc/machine-id";
  std::string state_directory{};  // where a generated id is stored; empty: it is not stored
};

// Stable across restarts. Order: the system's machine id, the id in the state directory (generated
// at the first call), the host name.
MachineId machine_id(const MachineIdOptions& options);

// The id on the wire: a hash, because the machine id itself should stay confidential. Equal texts
// give equal ids on all machines; never kNoHost.
HostId host_id(const std::string& machine_id);

// Where a file in this directory is: "b<birth time> m<hash>" of the directory and of the machine's
// hardware id, "-" for a part that is not known. A copy of the directory is elsewhere, also a copy
// on another disk; so is a copy of the whole disk in another machine, virtual or not. Only root can
// read the hardware id.
std::string place_of(const std::string& directory);

// The daemon's random source. It asks the kernel for each number, so a forked child draws different
// ones.
class KernelDraw final : public Draw {
 public:
  std::uint64_t below(std::uint64_t limit) override;
};

std::uint64_t kernel_random();  // 64 bits

}  // namespace tempo::sys
