// One run of the equitable ring in a simulated network: its cost, and whether the properties held.
//
// Properties of every run: one leader, known to all live stations; without a crash, hops =
// n (T + 1), where T is the number of rounds until one station was left; and never more than n
// priorities in transit to one station, so that a buffer of n suffices.
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
  // Number of crashes, of random stations at random times during the election.
  std::uint32_t crashes = 0;
  std::uint32_t faulty = 0;  // number of stations that turn out to be faulty as leader
  std::uint64_t seed = 1;
};

// Loss, duplication, reordering and crashes require the courier.
bool needs_courier(const EquitableSetup& setup);

struct EquitableOutcome {
  std::uint32_t leaders = 0;    // live leaders at the end
  NodeId leader = kNobody;      // the leader, if there is exactly one
  bool settled = false;         // all live stations know one leader
  std::uint32_t elections = 0;  // number of elections; 1 unless a station crashed or was faulty
  // Last election.
  std::uint32_t rounds = 0;  // T: without the last round, in which the leader finds itself alone
  std::uint32_t productive = 0;  // rounds that removed a station
  std::uint64_t hops = 0;        // hops of priorities, without repeats
  std::uint64_t announcement_hops = 0;
  std::uint64_t bits = 0;  // bits of these priorities; each has an id and a priority
  // Whole run.
  std::uint32_t buffer_max = 0;  // largest number of priorities in transit to one station
  std::uint64_t datagrams = 0;   // all sent datagrams, with acknowledgements and repeats
  Nanos time{0};                 // until all stations knew the leader
  // With faulty stations: whether the first leader was faulty, and whether the next one was.
  bool faulty_first = false;
  bool faulty_again = false;
  std::uint64_t hash = 0;  // hash of leader, time and cost; the same on every machine
  std::string broken;      // name of the violated property; empty: none
};

// The same setup gives the same outcome. A non-null `trace` receives the trace.
EquitableOutcome run(const EquitableSetup& setup, Trace* trace = nullptr);

}  // namespace tempo::sim::ring
