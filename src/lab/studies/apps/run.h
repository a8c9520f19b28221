// One run of an application of elections in a simulated network, with whatever goes wrong in it.
//
// The members are the machines that ship: an election by capacity and a duty, on atomic broadcast,
// on clocks that are apart. A process that is about to crash already loses half of what it sends.
#pragma once

#include <cstdint>
#include <string>

#include "lab/sim/trace.h"
#include "lab/studies/apps/property.h"
#include "lab/studies/apps/scenario.h"

namespace tempo::sim::apps {

struct Outcome {
  bool ran = false;
  std::string broken;  // how the promise was; empty: kept
  Instant broken_at{};
  std::uint64_t asked = 0;
  std::uint64_t done = 0;
  std::uint64_t fewest = 0;  // done by one node, of those that live at the end
  std::uint64_t most = 0;
  double longest_wait = 0;  // in T
  std::uint32_t elections = 0;
  std::uint64_t broadcasts = 0;  // what is handed on is no new one
  std::uint64_t hash = 0;        // of everything that happened
};

// `kept`, if not null, becomes the story of the run.
Outcome run(const Setup& setup, Trace* kept = nullptr);

}  // namespace tempo::sim::apps
