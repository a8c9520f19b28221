// A schedule of faults with their times; each seed gives one schedule.
//
// Pure; cluster.h carries it out. Every fault has its own end, and all end within the schedule.
// Durations are drawn around the lease time, where defects are likely: much shorter faults have no
// effect, much longer ones always expire leases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace tempo::faults {

struct Fault {
  enum class Kind : std::uint8_t {
    kill,         // SIGKILL to the host's tempod, parent and worker; started again at the end
    crash,        // SIGKILL to the worker; the parent starts another
    stop,         // SIGSTOP to the worker; continued at the end
    restart,      // clean shutdown of tempod; started again at the end
    link_down,    // the host's link is down
    deaf,         // datagrams to the host are lost, datagrams from it are not
    partition,    // separates the hosts in `hosts` from all others
    loss,         // every datagram is lost with probability `percent`
    kill_client,  // SIGKILL; a new process replaces it at the end
    stop_client,  // SIGSTOP; continued at the end
    count
  };
  Kind kind = Kind::kill;
  Nanos begin{0};
  Nanos end{0};
  std::uint32_t hosts = 0;   // one bit per affected host
  std::uint32_t client = 0;  // only for kill_client and stop_client
  unsigned percent = 0;      // only for loss

  bool operator==(const Fault&) const = default;
};
std::string text_of(const Fault& fault);

struct Shape {
  std::uint32_t hosts = 5;
  std::uint32_t clients = 8;
  Nanos lease{};
};

struct Schedule {
  std::vector<Fault> faults;  // ordered by begin
  Nanos length{0};            // all faults have ended by then

  bool operator==(const Schedule&) const = default;
};
Schedule schedule_of(std::uint64_t seed, const Shape& shape);
std::string text_of(const Schedule& schedule);

}  // namespace tempo::faults
