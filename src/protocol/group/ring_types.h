// What stations on a ring say to each other, and what they know of it. Both ring elections share
// it.
//
// The ring is the stations 0 to n-1 in the order of their numbers, each sending to the next only.
// How a message gets to the next station is ring_link.h's affair; what it means is the election's.
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
  probe,         // of the link: are you there?
  priority,      // equitable: what a station drew; Chang and Roberts: its id
  announcement,  // who is elected
  wake_up,       // anonymous, and the next three
  claim,
  next_time,
  termination,
};
inline constexpr std::size_t kKinds = 8;

// Whether an election sends it, rather than the link below it.
constexpr bool of_election(Kind kind) { return kind != Kind::ack && kind != Kind::probe; }

struct Message {
  Kind kind = Kind::ack;
  // The link's part; all zero where the network below is as good as a link.
  Incarnation life{};
  Sequence sequence = kNoSequence;
  Sequence after = kNoSequence;    // the one sent before it to the same station, if any
  Sequence answers = kNoSequence;  // an ack's: the receiver's message that has arrived
  // The election's part.
  std::uint32_t number = 0;  // of the election; a crash begins the next one
  NodeId id = kNobody;       // whose priority it is, or who is elected
  std::uint32_t priority = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("life", self.life);
    visit("sequence", self.sequence);
    visit("after", self.after);
    field::theirs(visit, "answers", self.answers);
    visit("number", self.number);
    visit("id", self.id);
    visit("priority", self.priority);
  }
};

using Courier = tempo::Courier<Message>;

struct LinkRules {
  std::uint32_t stations = 2;
  // Set: every message is acknowledged, repeated until it is, and put back into its order; a
  // neighbour that does not answer is passed over. Unset: the network loses nothing, doubles
  // nothing and keeps the order.
  std::optional<Courier::Options> courier{};
  Nanos probe = 1s;              // from one sign of life of the next station to the next
  std::uint32_t successors = 4;  // stations after it that a station knows, at least 1
};

std::string_view name_of(Kind kind);
inline std::string_view name_of(const Message& message) { return name_of(message.kind); }

}  // namespace tempo::election::ring
