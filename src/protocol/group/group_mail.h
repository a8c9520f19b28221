// Converts messages of a group's machines to datagram bodies and back: node numbers to host ids.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "protocol/group/elections.h"
#include "protocol/group/leadership.h"
#include "protocol/group/ring_elections.h"
#include "protocol/group/signed_elections.h"
#include "protocol/group/terms.h"
#include "protocol/wire/directory.h"
#include "protocol/wire/group_body.h"

namespace tempo::groups {

// Settings that all candidates of a group must have in common.
struct Terms {
  Criterion criterion = Criterion::load;
  Algorithm algorithm = Algorithm::b1;

  bool operator==(const Terms&) const = default;
};

// A heartbeat with the group's settings.
struct ReceivedHeartbeat {
  Heartbeat heartbeat{};
  Terms terms{};
  std::uint32_t last_on_ring = 0;  // number of the last election on a ring
};

wire::GroupBody body_of(std::string_view name, const ReceivedHeartbeat& received,
                        const wire::Directory& hosts);
wire::GroupBody body_of(std::string_view name, const ElectionMessage& message,
                        const wire::Directory& hosts);
wire::GroupBody body_of(std::string_view name, const RingMessage& envelope,
                        const wire::Directory& hosts);
wire::GroupBody body_of(std::string_view name, const SignedMessage& envelope,
                        const wire::Directory& hosts);

using GroupMessage = std::variant<ReceivedHeartbeat, ElectionMessage, RingMessage, SignedMessage>;
// Numbers hosts that are new. Unset if the body names a host that cannot have a number, or settings
// of a later revision.
std::optional<GroupMessage> message_of(const wire::GroupBody& body, wire::Directory& hosts);

}  // namespace tempo::groups
