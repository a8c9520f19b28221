// Messages about locks (doc/internals/lease.md) in datagrams: hosts by id, locks by name.
//
// Kinds and reasons have the values of the lock protocol's enumerations; the fields have the names
// of its messages. A field that a kind does not use is 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/units.h"
#include "protocol/wire/error.h"
#include "protocol/wire/name.h"

namespace tempo::wire {

inline constexpr std::size_t kMaxLockName = 64;
using LockName = Text<kMaxLockName>;

// Identity of a voting set: a hash of its first voters and of a random number of its bootstrap.
enum class SetId : std::uint64_t {};
inline constexpr SetId kNoSet{0};  // the sender knows no voters
// Random number of a voter's record, drawn when the record is first written.
enum class RecordId : std::uint64_t {};
inline constexpr RecordId kNoRecord{0};

struct LockBallot {
  static constexpr std::size_t kBytes = 16;

  std::uint64_t count = 0;
  HostId origin = kNoHost;

  bool operator==(const LockBallot&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.count, self.origin);
  }
};

struct LockWaiter {
  static constexpr std::size_t kBytes = 9;

  std::uint64_t ticket = 0;
  bool shared = false;

  bool operator==(const LockWaiter&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.ticket);
    io.flags(self.shared);
  }
};

inline constexpr std::size_t kMaxLockWaiters = 4;
inline constexpr std::size_t kMaxLockEnds = 3;
inline constexpr std::size_t kMaxLockStandings = 6;
using LockWaiters = InlineVector<LockWaiter, kMaxLockWaiters>;

// Waiters of another member, as the sender of a PASS knows them.
struct LockStanding {
  static constexpr std::size_t kFixedBytes = 17;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMaxLockWaiters * LockWaiter::kBytes;

  HostId member = kNoHost;
  std::uint32_t boot = 0;
  std::uint32_t k = 0;
  LockWaiters waiting{};

  bool operator==(const LockStanding&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io(self.member, self.boot, self.k);
    io.expect(self.member != kNoHost, Error::bad_value);
    io.list(self.waiting, io.length(self.waiting));
  }
};

// Fields of a PASS only.
struct LockPass {
  static constexpr std::size_t kBytes = 28;

  HostId target = kNoHost;
  std::uint32_t sub = 0;
  Nanos left{0};  // not negative
  std::uint64_t ticket = 0;
  InlineVector<LockStanding, kMaxLockStandings> standings{};  // one section each

  bool operator==(const LockPass&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kBytes);
    io(self.target, self.sub);
    io.expect(self.target != kNoHost, Error::bad_value);
    io.not_negative(self.left);
    io(self.ticket);
  }
};

struct LockVoter {
  static constexpr std::size_t kBytes = 9;

  HostId host = kNoHost;  // kNoHost: the slot is free
  std::uint8_t votes = 0;

  bool operator==(const LockVoter&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.host, self.votes);
  }
};

// The voters by slot, up to the last slot in use.
struct LockVoters {
  static constexpr std::size_t kMax = 8;
  static constexpr std::size_t kFixedBytes = 13;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMax * LockVoter::kBytes;

  std::uint64_t count = 0;   // of the ballot that proposed this view; 0: the view is in force
  std::uint32_t number = 0;  // of the view; 0: no view in this message
  InlineVector<LockVoter, kMax> slots{};

  bool operator==(const LockVoters&) const = default;

  // There is at least one voter, no host occurs twice, and exactly the slots in use have votes.
  bool valid() const {
    const auto valid_slot = [&](const LockVoter& slot) {
      return slot.host == kNoHost
                 ? slot.votes == 0
                 : slot.votes != 0 && std::ranges::count(slots, slot.host, &LockVoter::host) == 1;
    };
    return number != 0 && !slots.empty() && slots[slots.size() - 1].votes != 0 &&
           std::ranges::all_of(slots, valid_slot);
  }

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io(self.count, self.number);
    io.list(self.slots, io.length(self.slots));
    io.expect(self.valid(), Error::bad_value);
  }
};

// A voter that votes with a record that others did not know: a copy, or one after a lost record.
struct LockClaim {
  static constexpr std::size_t kBytes = 20;

  HostId host = kNoHost;
  RecordId record = kNoRecord;
  std::uint32_t boot = 0;  // messages of that voter with a lower boot are void

  bool operator==(const LockClaim&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.host, self.record, self.boot);
    io.expect(self.host != kNoHost, Error::bad_value);
  }
};
inline constexpr std::size_t kMaxLockClaims = 8;
using LockClaims = InlineVector<LockClaim, kMaxLockClaims>;

// A section of its own.
struct LockClaimsBody {
  static constexpr std::size_t kFixedBytes = 1;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMaxLockClaims * LockClaim::kBytes;

  LockClaims claims{};

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io.list(self.claims, io.length(self.claims));
  }
};

// A client inside that may resume after a restart of its daemon.
struct LockInsider {
  static constexpr std::size_t kBytes = 20;

  std::uint32_t sub = 0;
  std::uint64_t session = 0;
  std::uint64_t process = 0;

  bool operator==(const LockInsider&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.sub, self.session, self.process);
  }
};

inline constexpr std::size_t kMaxLockInsiders = 8;

// Clients inside, of an ASK; the client of a RESUME, and its sub alone in the answers.
struct LockInside {
  static constexpr std::size_t kFixedBytes = 5;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMaxLockInsiders * LockInsider::kBytes;

  std::uint32_t sub = 0;  // 0: no such section
  InlineVector<LockInsider, kMaxLockInsiders> clients{};

  bool operator==(const LockInside&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    const auto clients = io.length(self.clients);
    io.not_zero(self.sub);
    io.list(self.clients, clients);
  }
};

struct LockBody {
  static constexpr std::uint8_t kKinds = 10;
  static constexpr std::uint8_t kWhys = 6;
  static constexpr std::size_t kFixedBytes = 94;  // before the lists and the name
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMaxLockWaiters * LockWaiter::kBytes +
                                           kMaxLockEnds * LockBallot::kBytes + kMaxLockName;

  std::uint8_t kind = 0;
  std::uint8_t why = 0;
  bool shared = false;
  bool held = false;
  bool resumed = false;
  bool confirmed = false;
  bool no_wait = false;
  LockName name{};  // empty: concerns all locks
  std::uint32_t view = 0;
  std::uint32_t boot = 0;
  std::uint32_t k = 0;
  std::uint32_t to_boot = 0;
  std::uint32_t to_k = 0;
  std::uint32_t named = 0;  // set of voters, one bit per slot
  LockBallot ballot{};
  std::uint64_t top = 0;
  Nanos length{0};  // not negative
  std::uint64_t nonce = 0;
  std::uint64_t reserve = 0;
  SetId set_id = kNoSet;
  RecordId record = kNoRecord;  // the sender's
  LockWaiters waiting{};
  InlineVector<LockBallot, kMaxLockEnds> ends{};
  LockPass pass{};      // a section of its own; absent without a target
  LockVoters set{};     // the view in force; a section of its own, absent if number is 0
  LockVoters next{};    // the view accepted or proposed as its successor; likewise
  LockClaims claims{};  // a section of its own; absent if empty, and with a pass
  LockInside inside{};  // a section of its own; absent if its sub is 0, and with a pass

  bool operator==(const LockBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io.kind(self.kind, kKinds);
    io.below(self.why, kWhys);
    io.flags(self.shared, self.held, self.resumed, self.confirmed, self.no_wait);
    const auto waiting = io.length(self.waiting);
    const auto ends = io.length(self.ends);
    const auto name = io.length(self.name);
    io(self.view, self.boot, self.k, self.to_boot, self.to_k, self.named, self.ballot, self.top);
    io.not_negative(self.length);
    io(self.nonce, self.reserve, self.set_id, self.record);
    io.list(self.waiting, waiting);
    io.list(self.ends, ends);
    io.text(self.name, name);
  }
};

// Proposal of the first voters, while the hosts agree on them.
struct VoterSetBody {
  enum class Stage : std::uint8_t { proposed, ready, committed };
  static constexpr std::uint8_t kStages = 3;
  static constexpr std::size_t kMax = 8;
  static constexpr std::size_t kFixedBytes = 10;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMax * sizeof(HostId);

  Stage stage = Stage::proposed;
  std::uint64_t number = 0;             // random, of the first of the voters; 0: not known yet
  InlineVector<HostId, kMax> voters{};  // in the order of their ids, none twice

  bool operator==(const VoterSetBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io.kind(self.stage, kStages);
    const auto voters = io.length(self.voters);
    io(self.number);
    io.list(self.voters, voters);
    io.expect(
        (self.voters.empty() || self.voters.front() != kNoHost) &&
            std::ranges::adjacent_find(self.voters, std::greater_equal{}) == self.voters.end(),
        Error::bad_value);
  }
};

}  // namespace tempo::wire
