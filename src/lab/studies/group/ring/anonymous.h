// One run of the anonymous ring in a simulated network: number of leaders, phases, cost, and
// whether the properties held.
//
// Properties of every run without a crash: a phase in which exactly one station drew 1 ends with
// that station elected and all others defeated (Lemma 5); every station begins a phase within
// n (dmax + rmax) of its beginning (Lemma 4); a phase lasts no longer than `phase_bound`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/sim/trace.h"
#include "protocol/group/ring_anonymous.h"

namespace tempo::sim::ring {

struct AnonymousSetup {
  std::uint32_t stations = 8;
  std::uint32_t stages = 30;
  double gamma = 1;  // rmin / rmax; the step length of every station is drawn from this range
  double loss = 0;
  double duplicate = 0;
  std::uint32_t crashes = 0;
  bool printed_next_timer = false;
  // Above 0: all stations wake up at once, and this many, evenly spaced, draw 1 in the first phase.
  std::uint32_t candidates = 0;
  // With two candidates: station 0 has the shortest steps that gamma allows, the others the
  // longest.
  bool first_is_fast = false;
  bool steady_delay = false;           // every message takes the longest delay
  std::uint32_t most_phases = 10'000;  // the run stops after this many phases
  std::uint64_t seed = 1;
};

struct AnonymousOutcome {
  std::uint32_t leaders = 0;
  std::vector<NodeId> elected;  // the elected stations
  bool settled = false;         // every live station is elected or defeated
  std::uint32_t phases = 0;
  std::uint32_t first_phase_leaders = 0;  // number of stations elected in the first phase
  std::uint64_t messages = 0;             // without repeats
  std::uint64_t bits = 0;                 // two per message: there are four kinds
  std::uint64_t datagrams = 0;
  Nanos time{0};
  // Longest time from the beginning of a phase until the last station began it.
  Nanos longest_start{0};
  Nanos longest_phase{0};
  std::uint64_t hash = 0;
  std::string broken;
};

// The parameters of the election on this ring.
tempo::election::anonymous::Rules rules_of(const AnonymousSetup& setup);
// Upper bound on the duration of a phase. The paper's bound ignores that a slow station counts
// rmax/rmin times as long as a fast one.
Nanos phase_bound(const tempo::election::anonymous::Rules& rules);

AnonymousOutcome run(const AnonymousSetup& setup, Trace* trace = nullptr);

}  // namespace tempo::sim::ring
