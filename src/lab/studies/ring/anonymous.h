// The anonymous ring in a simulated network, once: how many leaders, in how many phases, at what
// cost, and whether it kept its promises.
//
// Promised in every run without a crash: a phase in which exactly one station drew 1 ends with that
// one elected and all others defeated (Lemma 5); every station begins a phase within
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
  double gamma = 1;  // rmin / rmax; every station draws the length of its steps in between
  double loss = 0;
  double duplicate = 0;
  std::uint32_t crashes = 0;
  bool printed_next_timer = false;
  // Above 0: all wake up at once, and so many, evenly apart, draw 1 in the first phase.
  std::uint32_t candidates = 0;
  // With two candidates: the first has the shortest steps that gamma allows, the others the
  // longest.
  bool first_is_fast = false;
  bool steady_delay = false;           // every message takes as long as any
  std::uint32_t most_phases = 10'000;  // then it is given up
  std::uint64_t seed = 1;
};

struct AnonymousOutcome {
  std::uint32_t leaders = 0;
  std::vector<NodeId> who;  // they are
  bool settled = false;     // everybody is elected or defeated
  std::uint32_t phases = 0;
  std::uint32_t first_phase_leaders = 0;  // how many were elected in the first phase
  std::uint64_t messages = 0;             // repeats not counted
  std::uint64_t bits = 0;                 // two a message: there are four kinds
  std::uint64_t datagrams = 0;
  Nanos time{0};
  Nanos longest_start{0};  // from the beginning of a phase until the last station began it
  Nanos longest_phase{0};
  std::uint64_t hash = 0;
  std::string broken;
};

// What the election is told about the ring.
tempo::election::anonymous::Rules rules_of(const AnonymousSetup& setup);
// No phase lasts longer: the paper's bound forgets that a slow station counts rmax/rmin times as
// long as a fast one.
Nanos phase_bound(const tempo::election::anonymous::Rules& rules);

AnonymousOutcome run(const AnonymousSetup& setup, Trace* trace = nullptr);

}  // namespace tempo::sim::ring
