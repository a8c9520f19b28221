// Does not compile: the whole runs on raw time and steps a part that runs on boot time.
#include "machine/compose.h"
#include "machine/one_timer.h"

namespace tempo {

struct Lease {
  using Message = Nothing;
  using Command = Nothing;
  using Notice = Nothing;
  using Time = BootTime;
  void start(Turn<Lease>& turn) { until = turn.now + 1s; }
  BootTime until{};
};

struct Host {
  using Message = Nothing;
  using Command = Nothing;
  using Notice = Nothing;
  using Parts = PartList<Lease>;
  Lease lease;
};

void start(Turn<Host>& turn, Host& host) {
  step_part(
      turn, host.lease, [](Lease& lease, Turn<Lease>& inner) { lease.start(inner); },
      [](const Output<Lease>&) {});
}

}  // namespace tempo
