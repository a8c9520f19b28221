// One election by capacity in a simulated network, with whatever is to go wrong in it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "protocol/group/capacity.h"

namespace tempo::sim::capacity {

enum class Algorithm : std::uint8_t { a, b1, b2, b2_unordered, c };

// Where capacities come from.
enum class Criterion : std::uint8_t {
  random,
  id,        // the node's number
  equal,     // the same for all: the larger number wins
  changing,  // drawn anew now and then, during the election too
};

struct Setup {
  Algorithm algorithm = Algorithm::a;
  std::uint32_t nodes = 5;
  std::uint32_t candidates = 5;  // which of the nodes is drawn
  tempo::election::capacity::Variant variant = tempo::election::capacity::Variant::corrected;
  Criterion criterion = Criterion::random;
  double loss = 0;              // of each copy; C alone can bear it
  std::uint32_t malicious = 0;  // t, and so many are
  std::uint32_t crashes = 0;    // so many stop for ever, at some time during the election
  std::uint32_t pauses = 0;     // so many stand still for up to 2T
  Nanos bound = 10ms;           // T; a broadcast takes up to T
  Nanos start_skew{0};          // spontaneous beginnings are so far apart at most
  Nanos clock_error{0};  // clocks differ by at most this: so do beginnings at the same reading
  bool self_delivery = true;
  // Not a network that keeps the promises by itself but the atomic broadcast machine on one that
  // does not: T follows from these, and `bound`, `self_delivery` and liars are not for it.
  bool over_atomic = false;
  Nanos delay = 1ms;        // of a message at most
  Nanos precision = 100us;  // clocks differ by at most this
  std::uint64_t seed = 1;
};

// An honest process is one that neither lies nor crashes nor pauses.
struct Outcome {
  bool unique = false;        // every honest process has elected the same candidate
  bool disagree = false;      // two honest processes have elected different ones
  std::uint32_t masters = 0;  // honest processes that take themselves for the master
  std::uint32_t help = 0;     // processes that ended asking for help
  std::uint32_t rounds = 0;   // of C: the most any process took part in
  Nanos time{0};  // from the first beginning to the last honest decision, first election
  std::uint32_t reelections = 0;
  std::uint64_t broadcasts = 0;  // of honest processes, signs of life not counted
  std::uint64_t events = 0;
  Nanos bound{0};  // T, as asked or as the atomic broadcast has it
};

// Candidates <= nodes; crashes, pauses and liars are different nodes and leave one honest; B.2
// needs nodes >= 3 * malicious + 1, and unordered at most 16.
Outcome run(const Setup& setup);

}  // namespace tempo::sim::capacity
