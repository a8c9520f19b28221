// Between what a group's machines say and what datagrams carry: numbers and hosts.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "protocol/group/elections.h"
#include "protocol/group/leadership.h"
#include "protocol/group/ring_elections.h"
#include "protocol/group/signed_elections.h"
#include "protocol/group/terms.h"
#include "protocol/lock/member_map.h"
#include "protocol/wire/group_body.h"

namespace tempo::groups {

using locks::Numbering;

// What candidates must have in common.
struct Terms {
  Criterion criterion = Criterion::load;
  Algorithm algorithm = Algorithm::b1;

  bool operator==(const Terms&) const = default;
};

// A word, and what goes with it.
struct ReceivedHeartbeat {
  Heartbeat word{};
  Terms terms{};
  std::uint32_t last_on_ring = 0;  // election
};

wire::GroupBody body_of(std::string_view name, const ReceivedHeartbeat& said,
                        const Numbering& hosts);
wire::GroupBody body_of(std::string_view name, const Said& said, const Numbering& hosts);
wire::GroupBody body_of(std::string_view name, const OnRing& said, const Numbering& hosts);
wire::GroupBody body_of(std::string_view name, const Signed& said);

using Heard = std::variant<ReceivedHeartbeat, Said, OnRing, Signed>;
// Nothing, if it names a host for which there is no number, or terms of a later revision.
std::optional<Heard> heard_of(const wire::GroupBody& body, const Numbering& hosts);

}  // namespace tempo::groups
