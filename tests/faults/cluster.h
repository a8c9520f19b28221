// Carries out a schedule of faults on a site of real daemons and a crew of clients.
//
// What is wrong at a moment is the sum of the faults that last then: a host that is killed twice is
// started when the second is over. At the end everything is as it was before.
#pragma once

#include <cstdint>
#include <vector>

#include "workload.h"
#include "schedule.h"
#include "support/site.h"

namespace tempo::faults {

class Cluster {
 public:
  Cluster(testbed::Site& site, Workload& workload) : site_(&site), workload_(&workload) {}

  void play(const Schedule& schedule);

 private:
  void begin(const Fault& fault);
  void end(const Fault& fault);
  // Whether one of that kind strikes it now.
  bool struck(Fault::Kind kind, std::uint32_t host) const;
  void start_if_free(std::uint32_t host);
  void continue_if_free(std::uint32_t host);
  void set_network();

  testbed::Site* site_;
  Workload* workload_;
  std::vector<Fault> now_;
};

}  // namespace tempo::faults
