// One run of the membership machine in a lossy world: an election that may be wrong, crashes,
// restarts, pauses, partitions, lost records, loss, delays and duplicates; then calm.
//
// Properties:
//   one-main   at no time are two masters of one lineage main, and no master is main before the V
//              of one that crashed
//   one-view   of each number of a lineage there is one view
//   settles    after the calm one master is main, and all machines that are up follow one view;
//              unless records were lost
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace tempo::sim::views {

struct Setup {
  std::uint32_t nodes = 5;
  std::uint64_t seed = 1;
  Nanos lasts = 60s;  // of the faults
  double loss = 0.1;  // share of the datagrams
  double duplicates = 0.1;
  Nanos most_delay = 1s;
  double lost_records = 0;  // share of the crashes after which the record is gone
  double wrong = 0.2;       // share of the elections that choose a master of their own for a node
  std::uint32_t faults = 30;
  bool even_clocks = false;  // true: all clocks run at the true rate
};

struct Outcome {
  std::string broken;       // the violated property, with details; empty: none
  std::uint64_t views = 0;  // agreed views
  std::uint64_t mains = 0;  // times that a master became main
  double main_share = 0;    // share of the time with a main master
  bool one_main_at_the_end = false;
};

Outcome run(const Setup& setup);

}  // namespace tempo::sim::views
