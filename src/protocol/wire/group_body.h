// What hosts say to each other of groups (doc/internals/groups.md), as datagrams carry it: hosts by
// their ids, groups by their names.
//
// A word is about who stands and who leads; the others belong to an election. A field that a kind
// does not use is 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/result.h"
#include "base/units.h"
#include "protocol/wire/bytes.h"
#include "protocol/wire/error.h"
#include "protocol/wire/name.h"

namespace tempo::wire {

// With "@group/" before it, it is the name of a lock.
inline constexpr std::size_t kMaxGroupName = 57;
using GroupName = Text<kMaxGroupName>;

struct GroupBid {
  std::int64_t capacity = 0;
  HostId host = kNoHost;

  bool operator==(const GroupBid&) const = default;
};

// From one station of a ring to another.
struct GroupRing {
  std::uint64_t ring = 0;  // which: the sum of the ids of its hosts
  std::uint32_t election = 0;
  std::uint32_t sequence = 0;  // of the sender's messages; 0: none
  std::uint32_t after = 0;     // the one before it to the same station; 0: none
  std::uint32_t answers = 0;   // an acknowledgement's
  std::uint32_t priority = 0;

  bool operator==(const GroupRing&) const = default;
};

// Of a member in the list of machines that sign.
struct GroupSignature {
  static constexpr std::size_t kBytes = 64;

  std::uint8_t member = 0;
  std::array<std::byte, kBytes> bytes{};

  bool operator==(const GroupSignature&) const = default;
};
inline constexpr std::size_t kMaxGroupSignatures = 3;
using GroupSignatures = InlineVector<GroupSignature, kMaxGroupSignatures>;

// Of algorithm B.2.
struct GroupSigned {
  std::uint64_t list = 0;  // which: a hash of it
  std::uint64_t election = 0;
  std::uint32_t sender = 0;  // its place in the list
  std::uint32_t size = 0;    // of a report

  bool operator==(const GroupSigned&) const = default;
};

struct GroupBody {
  enum class Kind : std::uint8_t { word, begin, a, b1, c, ring, anonymous, b2 };
  static constexpr std::uint8_t kKinds = 8;
  static constexpr std::uint8_t kSteps = 3;  // of the messages of one algorithm
  static constexpr std::uint8_t kPhases = 8;

  Kind kind = Kind::word;
  GroupName name{};
  // word
  bool leads = false;
  bool asks = false;
  bool over = false;  // the group's one job is done
  std::uint8_t criterion = 0;
  std::uint8_t algorithm = 0;
  std::uint64_t term = 0;
  HostId heir = kNoHost;
  Nanos ago{0};  // since it is over; not negative
  // word: the sender's capacity; a, b1: as bid
  std::int64_t capacity = 0;
  // a, b1: atomic broadcast
  std::uint8_t step = 0;   // word, filler, doubt
  std::uint8_t phase = 0;  // b1: bid, alive; c: init, elected, dup; on a ring: the message's kind
  std::uint8_t hops = 0;
  HostId sender = kNoHost;  // on a ring: whose priority it is, or who is elected
  std::uint32_t serial = 0;
  std::uint32_t life = 0;     // of the first sender; on a ring: of this one
  std::int64_t stamp_ns = 0;  // network time; begin: when
  Nanos delay{0};             // not negative
  // a, b1, c: of the election; on a ring: of its beginnings; word: the last election on a ring
  std::uint32_t number = 0;
  // c
  GroupBid first{};
  GroupBid second{};
  // ring, anonymous; in the place of the bids
  GroupRing ring{};
  // b2; in the place of the bids, and a section of its own
  GroupSigned proof{};
  GroupSignatures signatures{};

  bool operator==(const GroupBody&) const = default;
};

inline constexpr std::size_t kGroupFixedBytes = 108;  // of a group section, before the name

inline constexpr std::size_t kMaxGroupSignatureBytes =
    1 + kMaxGroupSignatures * (1 + GroupSignature::kBytes);

Result<GroupBody, Error> take_group(Reader in);
Result<GroupSignatures, Error> take_signatures(Reader in);
void put_signatures(Writer& out, const GroupSignatures& signatures);
void put_group(Writer& out, const GroupBody& body);

}  // namespace tempo::wire
