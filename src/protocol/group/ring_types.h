// Messages of stations on a ring, and the rules of their links. Both ring elections use them.
//
// The ring is the stations 0 to n-1 in the order of their numbers; each sends only to the next.
// ring_link.h carries a message to the next station; the elections interpret it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/units.h"
#include "machine/courier.h"
#include "machine/fields.h"

namespace tempo::election::ring {

enum class Kind : std::uint8_t {
  ack,           // of the link: the message with this number has arrived
  probe,         // of the link: checks that the next station is alive
  priority,      // equitable: a station's draw; Chang and Roberts: its id
  announcement,  // the elected station
  wake_up,       // this and the next three: anonymous
  claim,
  next_time,
  termination,
};
inline constexpr std::size_t kKinds = 8;

// Whether an election sends this kind; otherwise the link sends it.
constexpr bool of_election(Kind kind) { return kind != Kind::ack && kind != Kind::probe; }

struct Message {
  Kind kind = Kind::ack;
  // The link's part; all zero if the network itself is reliable and ordered.
  Incarnation life{};
  Sequence sequence = kNoSequence;
  Sequence after = kNoSequence;    // the previous message to the same station; kNoSequence: none
  Sequence answers = kNoSequence;  // of an ack: the receiver's message that has arrived
  // The election's part.
  std::uint32_t number = 0;  // of the election; a crash begins the next one
  NodeId id = kNobody;       // station of the priority, or the elected station
  std::uint32_t priority = 0;

  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::kind>("kind"), field<&M::life>("life"), field<&M::sequence>("sequence"),
                field<&M::after>("after"), field<&M::answers, role::theirs>("answers"),
                field<&M::number>("number"), field<&M::id>("id"), field<&M::priority>("priority"));
  }
};

using Courier = tempo::Courier<Message, BootTime>;

struct LinkRules {
  std::uint32_t stations = 2;
  // Set: every message is acknowledged, repeated until then, and put back in order; a neighbour
  // that does not answer is skipped. Unset: the network does not lose, duplicate or reorder
  // messages.
  std::optional<Courier::Options> courier{};
  Nanos probe = 1s;              // interval between probes of the next station
  std::uint32_t successors = 4;  // known stations after this one, at least 1
};

std::string_view name_of(Kind kind);
inline std::string_view name_of(const Message& message) { return name_of(message.kind); }

}  // namespace tempo::election::ring
