// Faults and other interventions, as data: what a scenario plans, the shrinker drops and a script
// says.
//
// Each is complete in itself, with its own end, so that any of them can be left out of a plan.
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
  start,      // node, if it is down
  crash,      // node; after `lasts` it starts again with lost state
  hint,       // crash, and the node's parent says so with Masterdown
  pause,      // node, for `lasts`
  partition,  // the nodes of `side` and the others do not reach each other, for `lasts`
  deaf,       // node hears nothing, for `lasts`
  mute,       // node is not heard, for `lasts`
  cut,        // node does not reach peer, for `lasts`
  stand,      // node calls an election
  stop,       // node ends cleanly; after `lasts` it starts again
  lose,       // node -> peer messages of `kind` are lost, for `lasts`; kNobody: any
  twice,      // ... arrive twice
  late,       // ... take `extra` longer
  calm,       // the links lose, duplicate and reorder nothing from now on
  rough,      // they do again, as set up
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

// One line of a script, without its time: `crash 3 for 500ms`, `partition 1,2,3 for 5s`,
// `lose 1->2 election`, `late *->3 accept 300ms for 1s`.
std::string fault_text(const Fault& fault);
Result<Fault> parse_fault(std::string_view text, std::uint32_t nodes);

}  // namespace tempo::sim::election
