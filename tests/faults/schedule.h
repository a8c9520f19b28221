// What goes wrong, and when: one seed, one schedule.
//
// Pure: who carries it out is `stage.h`. Every fault has its own end, and all are over when the
// schedule is. Spans are drawn around the length of a lease, where what may go wrong does: much
// shorter ones are noticed by nobody, much longer ones by everybody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace tempo::faults {

struct Fault {
  enum class Kind : std::uint8_t {
    kill,         // the host's daemon, parent and worker; started again at the end
    crash,        // its worker; its parent starts another
    stop,         // its worker, by SIGSTOP; continued at the end
    restart,      // the daemon ends in order and is started again at the end
    link_down,    // the host's wire
    deaf,         // what is sent to the host is lost, what it sends is not
    partition,    // the hosts in `hosts` on one side, all others on the other
    loss,         // every datagram with a probability
    kill_client,  // another takes its place at the end
    stop_client,  // by SIGSTOP; continued at the end
    count
  };
  Kind kind = Kind::kill;
  Nanos begin{0};
  Nanos end{0};
  std::uint32_t hosts = 0;   // a bit for each that it strikes
  std::uint32_t client = 0;  // of those that strike a client
  unsigned percent = 0;      // of loss

  bool operator==(const Fault&) const = default;
};
std::string text_of(const Fault& fault);

struct Shape {
  std::uint32_t hosts = 5;
  std::uint32_t clients = 8;
  Nanos lease{};
};

struct Schedule {
  std::vector<Fault> faults;  // in the order of their beginnings
  Nanos length{0};            // all are over by then

  bool operator==(const Schedule&) const = default;
};
Schedule schedule_of(std::uint64_t seed, const Shape& shape);
std::string text_of(const Schedule& schedule);

}  // namespace tempo::faults
