// The equitable ring in a simulated network, once: what it cost, and whether it kept its promises.
//
// Promised in every run: one leader, known to all who live; without a crash, hops = n (T + 1),
// where T is the number of rounds until one station was left; and never more than n priorities on
// their way to one station, so that a buffer of n is enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/sim/delay.h"
#include "lab/sim/trace.h"
#include "protocol/group/ring_equitable.h"

namespace tempo::sim::ring {

struct EquitableSetup {
  std::uint32_t stations = 8;
  std::uint32_t range = 16;
  tempo::election::ring::Method method = tempo::election::ring::Method::equitable;
  Delay delay = Delay::uniform(100us, 2ms);  // must have a bound
  double loss = 0;                           // at most kMaxLoss (masking.h)
  double duplicate = 0;
  std::uint32_t crashes = 0;  // of stations chosen at random, some time during the election
  std::uint32_t faulty = 0;   // stations that turn out to be faulty when they lead
  std::uint64_t seed = 1;
};

// Networks that lose, double or reorder, and stations that crash, need the courier.
bool needs_courier(const EquitableSetup& setup);

struct EquitableOutcome {
  std::uint32_t leaders = 0;    // at the end, among those who live
  NodeId leader = kNobody;      // if there is one
  bool settled = false;         // all who live know the one leader
  std::uint32_t elections = 0;  // numbers used up; 1 unless somebody crashed or was faulty
  // Of the last election.
  std::uint32_t rounds = 0;      // T: without the last one, in which the leader finds itself alone
  std::uint32_t productive = 0;  // of these, rounds that removed a station
  std::uint64_t hops = 0;        // of priorities, repeats not counted
  std::uint64_t announcement_hops = 0;
  std::uint64_t bits = 0;  // of all these priorities: an id and a priority each
  // Of the whole run.
  std::uint32_t buffer_max = 0;  // priorities on their way to one station
  std::uint64_t datagrams = 0;   // everything sent, acknowledgements and repeats included
  Nanos time{0};                 // until all knew
  // With faulty stations: whether the first leader was one, and whether the next one was.
  bool faulty_first = false;
  bool faulty_again = false;
  std::uint64_t hash = 0;  // of who won, when and at what cost: the same wherever it is run
  std::string broken;      // the promise, if one is
};

// The same setup gives the same outcome. `trace` is filled if it is there.
EquitableOutcome run(const EquitableSetup& setup, Trace* trace = nullptr);

}  // namespace tempo::sim::ring
