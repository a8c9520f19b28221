// Faults and other interventions as data: scenarios plan them, the shrinker removes them, scripts
// describe them.
//
// Each is complete, with its own end, so that any of them can be removed from a plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

inline constexpr Nanos kForEver = Nanos::max();

enum class Act : std::uint8_t {
  start,      // start node, if it is down
  crash,      // crash node; after `lasts` it restarts without its state
  hint,       // crash, and the node's parent reports it with Masterdown
  pause,      // pause node for `lasts`
  partition,  // the nodes of `side` and the others cannot reach each other for `lasts`
  deaf,       // node receives nothing for `lasts`
  mute,       // messages of node are lost for `lasts`
  cut,        // messages from node to peer are lost for `lasts`
  stand,      // node calls an election
  stop,       // node stops cleanly; after `lasts` it restarts
  lose,       // node -> peer messages of `kind` are lost for `lasts`; kNobody: any node
  twice,      // ... are delivered twice
  late,       // ... take `extra` longer
  calm,       // from now on the links lose, duplicate and reorder nothing
  rough,      // from now on they do again, as set up
};

struct Fault {
  Instant at{};
  Act act = Act::start;
  NodeId node = kNobody;
  NodeId peer = kNobody;
  Nanos lasts = kForEver;
  std::vector<NodeId> side{};
  tempo::election::Kind kind = tempo::election::Kind::ack;
  bool any_kind = true;
  Nanos extra{0};
};

// One line of a script, without its time: `crash 3 for 500ms`, `partition 1,2,3 for 5s`, `lose 1->2
// election`, `late *->3 accept 300ms for 1s`.
std::string fault_text(const Fault& fault);
Result<Fault> parse_fault(std::string_view text, std::uint32_t nodes);

}  // namespace tempo::sim::election
