// Carries out a schedule of faults on a site of real daemons and their clients.
//
// Faults may overlap; a host that is killed twice is started after the second fault ends. At the
// end of the schedule every fault is undone.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule.h"
#include "support/site.h"
#include "workload.h"

namespace tempo::faults {

class Cluster {
 public:
  Cluster(testbed::Site& site, Workload& workload) : site_(&site), workload_(&workload) {}

  void run(const Schedule& schedule);

 private:
  void begin(const Fault& fault);
  void end(const Fault& fault);
  // A fault of this kind affects the host now.
  bool affected(Fault::Kind kind, std::uint32_t host) const;
  void start_if_free(std::uint32_t host);
  void continue_if_free(std::uint32_t host);
  void set_network();

  testbed::Site* site_;
  Workload* workload_;
  std::vector<Fault> active_;  // faults that have begun and not ended
};

}  // namespace tempo::faults
