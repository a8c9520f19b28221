// Messages about groups (doc/internals/groups.md) in datagrams: hosts by id, groups by name.
//
// A heartbeat announces candidates and leaders. All other kinds belong to an election. A field that
// a kind does not use is 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/units.h"
#include "protocol/wire/error.h"
#include "protocol/wire/name.h"

namespace tempo::wire {

// The lock of a group has this name with the prefix "@group/", so it is shorter than a lock's.
inline constexpr std::size_t kMaxGroupName = 57;
using GroupName = Text<kMaxGroupName>;

struct GroupBid {
  std::int64_t capacity = 0;
  HostId host = kNoHost;

  bool operator==(const GroupBid&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.capacity, self.host);
  }
};

// Message from one station of a ring to another.
struct GroupRing {
  std::uint64_t ring = 0;  // identifies the ring: sum of the ids of its hosts
  std::uint32_t election = 0;
  std::uint32_t sequence = 0;  // number of this message of the sender; 0: none
  std::uint32_t after = 0;     // number of the previous message to the same station; 0: none
  std::uint32_t answers = 0;   // acknowledgement: number of the message
  std::uint32_t priority = 0;

  bool operator==(const GroupRing&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.ring, self.election, self.sequence, self.after, self.answers, self.priority);
    io.constant(std::uint32_t{0});
  }
};

// Signature of a member of the list of signing machines.
struct GroupSignature {
  static constexpr std::size_t kBytes = 64;

  std::uint8_t member = 0;  // its position in the list
  std::array<std::byte, kBytes> bytes{};

  bool operator==(const GroupSignature&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.member);
    io.bytes(self.bytes);
  }
};
inline constexpr std::size_t kMaxGroupSignatures = 3;
using GroupSignatures = InlineVector<GroupSignature, kMaxGroupSignatures>;

// The signatures of a GroupBody, a section of its own.
struct GroupSignaturesBody {
  static constexpr std::size_t kMaxBytes = 1 + kMaxGroupSignatures * (1 + GroupSignature::kBytes);

  GroupSignatures signatures{};

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    const std::uint8_t count = io.length(self.signatures);
    io.expect(count > 0 && count <= kMaxGroupSignatures, Error::bad_value);
    io.list(self.signatures, count);
  }
};

// Fields of algorithm B.2.
struct GroupSigned {
  std::uint64_t list = 0;  // hash of the list of signing machines
  std::uint64_t election = 0;
  std::uint32_t sender = 0;  // its position in the list
  std::uint32_t size = 0;    // of a report

  bool operator==(const GroupSigned&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.list, self.election, self.sender, self.size);
    io.constant(std::uint64_t{0});
  }
};

struct GroupBody {
  enum class Kind : std::uint8_t { heartbeat, begin, a, b1, c, ring, anonymous, b2 };
  static constexpr std::uint8_t kKinds = 8;
  static constexpr std::uint8_t kSteps = 3;        // number of values of `step`
  static constexpr std::uint8_t kPhases = 8;       // number of values of `phase`
  static constexpr std::size_t kFixedBytes = 108;  // before the name
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMaxGroupName;

  Kind kind = Kind::heartbeat;
  GroupName name{};
  // heartbeat
  bool leads = false;  // the sender leads the group
  bool asks = false;   // the sender asks for an answer
  bool over = false;   // the group's single job is done
  std::uint8_t criterion = 0;
  std::uint8_t algorithm = 0;
  std::uint64_t term = 0;
  HostId heir = kNoHost;
  Nanos ago{0};  // time since the job was done; not negative
  // heartbeat: the sender's capacity; a, b1: the bid
  std::int64_t capacity = 0;
  // a, b1: atomic broadcast
  std::uint8_t step = 0;   // word, filler, doubt
  std::uint8_t phase = 0;  // b1: bid, alive; c: init, elected, dup; ring: kind of the message
  std::uint8_t hops = 0;
  HostId sender = kNoHost;  // ring: owner of the priority, or the host elected
  std::uint32_t serial = 0;
  std::uint32_t incarnation = 0;  // of the first sender; ring: of this sender
  std::int64_t stamp_ns = 0;      // network time; begin: start of the election
  Nanos delay{0};                 // not negative
  // a, b1, c: number of the election; ring: number of its start; heartbeat: last election on the
  // ring
  std::uint32_t number = 0;
  // c
  GroupBid first{};
  GroupBid second{};
  // ring, anonymous; uses the bytes of the bids
  GroupRing ring{};
  // b2; proof uses the bytes of the bids, signatures are a section of their own
  GroupSigned proof{};
  GroupSignatures signatures{};

  bool operator==(const GroupBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io.kind(self.kind, kKinds);
    const auto name = io.length(self.name);
    io.flags(self.leads, self.asks, self.over);
    io(self.criterion, self.algorithm);
    io.below(self.step, kSteps);
    io.below(self.phase, kPhases);
    io(self.hops, self.serial, self.incarnation, self.number, self.term, self.heir);
    io.not_negative(self.ago);
    io(self.capacity, self.sender);
    io.range(self.stamp_ns, 0, kMaxNanos);
    io.not_negative(self.delay);
    if (self.kind == Kind::ring || self.kind == Kind::anonymous)
      io(self.ring);
    else if (self.kind == Kind::b2)
      io(self.proof);
    else
      io(self.first, self.second);
    io.name(self.name, name);
  }
};

}  // namespace tempo::wire
