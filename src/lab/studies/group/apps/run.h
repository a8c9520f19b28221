// One run of an application of elections in a simulated network, with faults.
//
// The members are the shipped machines: an election by capacity and a duty, on atomic broadcast,
// with clocks that differ. A process that is about to crash already loses half of its datagrams.
#pragma once

#include <cstdint>
#include <string>

#include "lab/sim/trace.h"
#include "lab/studies/group/apps/property.h"
#include "lab/studies/group/apps/scenario.h"

namespace tempo::sim::apps {

struct Outcome {
  bool ran = false;
  std::string broken;  // the violation of the property; empty: none
  Instant broken_at{};
  std::uint64_t asked = 0;
  std::uint64_t done = 0;
  std::uint64_t fewest = 0;  // smallest number done by a node that is live at the end
  std::uint64_t most = 0;
  double longest_wait = 0;  // in T
  std::uint32_t elections = 0;
  std::uint64_t broadcasts = 0;  // without relayed messages
  std::uint64_t hash = 0;        // hash of the trace
};

// A non-null `trace` receives the trace of the run.
Outcome run(const Setup& setup, Trace* trace = nullptr);

}  // namespace tempo::sim::apps
