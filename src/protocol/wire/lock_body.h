// Messages about locks (doc/internals/lease.md) in datagrams: hosts by id, locks by name.
//
// Kinds and reasons have the values of the lock protocol's enumerations; the fields have the names
// of its messages. A field that a kind does not use is 0.
#pragma once

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

inline constexpr std::size_t kMaxLockName = 64;
using LockName = Text<kMaxLockName>;

struct LockBallot {
  std::uint64_t count = 0;
  HostId origin = kNoHost;

  bool operator==(const LockBallot&) const = default;
};

struct LockWaiter {
  std::uint64_t ticket = 0;
  bool shared = false;

  bool operator==(const LockWaiter&) const = default;
};

inline constexpr std::size_t kMaxLockWaiters = 4;
inline constexpr std::size_t kMaxLockEnds = 3;
inline constexpr std::size_t kMaxLockStandings = 6;
using LockWaiters = InlineVector<LockWaiter, kMaxLockWaiters>;

// Waiters of another member, as the sender of a PASS knows them.
struct LockStanding {
  HostId member = kNoHost;
  std::uint32_t boot = 0;
  std::uint32_t k = 0;
  LockWaiters waiting{};

  bool operator==(const LockStanding&) const = default;
};

// Fields of a PASS only.
struct LockPass {
  HostId target = kNoHost;
  std::uint32_t sub = 0;
  Nanos left{0};  // not negative
  std::uint64_t ticket = 0;
  InlineVector<LockStanding, kMaxLockStandings> standings{};  // one section each

  bool operator==(const LockPass&) const = default;
};

struct LockVoter {
  HostId host = kNoHost;  // kNoHost: the slot is free
  std::uint8_t votes = 0;

  bool operator==(const LockVoter&) const = default;
};

// The voters by slot, up to the last slot in use.
struct LockVoters {
  static constexpr std::size_t kMax = 8;

  std::uint64_t count = 0;   // of the ballot that proposed this view; 0: the view is in force
  std::uint32_t number = 0;  // of the view; 0: no view in this message
  InlineVector<LockVoter, kMax> slots{};

  bool operator==(const LockVoters&) const = default;
};

struct LockBody {
  static constexpr std::uint8_t kKinds = 9;
  static constexpr std::uint8_t kWhys = 6;

  std::uint8_t kind = 0;
  std::uint8_t why = 0;
  bool shared = false;
  bool held = false;
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
  LockWaiters waiting{};
  InlineVector<LockBallot, kMaxLockEnds> ends{};
  LockPass pass{};    // a section of its own; absent without a target
  LockVoters set{};   // the view in force; a section of its own, absent if number is 0
  LockVoters next{};  // the view accepted or proposed as its successor; likewise

  bool operator==(const LockBody&) const = default;
};

// Proposal of the first voters, while the hosts agree on them.
struct VoterSetBody {
  enum class Stage : std::uint8_t { proposed, ready, committed };
  static constexpr std::uint8_t kStages = 3;
  static constexpr std::size_t kMax = 8;

  Stage stage = Stage::proposed;
  InlineVector<HostId, kMax> voters{};

  bool operator==(const VoterSetBody&) const = default;
};

// Sizes of section bodies, without tag and length.
inline constexpr std::size_t kLockFixedBytes = 78;  // of a lock section before its lists and name
inline constexpr std::size_t kLockPassBytes = 28;
inline constexpr std::size_t kLockStandingFixedBytes = 17;
inline constexpr std::size_t kLockWaiterBytes = 9;
inline constexpr std::size_t kLockBallotBytes = 16;
inline constexpr std::size_t kMaxLockBytes = kLockFixedBytes + kMaxLockWaiters * kLockWaiterBytes +
                                             kMaxLockEnds * kLockBallotBytes + kMaxLockName;
inline constexpr std::size_t kMaxLockStandingBytes =
    kLockStandingFixedBytes + kMaxLockWaiters * kLockWaiterBytes;
inline constexpr std::size_t kLockVotersFixedBytes = 13;
inline constexpr std::size_t kLockVoterBytes = 9;
inline constexpr std::size_t kMaxLockVotersBytes =
    kLockVotersFixedBytes + LockVoters::kMax * kLockVoterBytes;
inline constexpr std::size_t kMaxVoterSetBytes = 2 + VoterSetBody::kMax * sizeof(HostId);

Result<LockBody, Error> take_lock(Reader in);  // without pass, set and next
Result<LockPass, Error> take_pass(Reader in);  // without standings
Result<LockStanding, Error> take_standing(Reader in);
Result<LockVoters, Error> take_voters(Reader in);
Result<VoterSetBody, Error> take_voter_set(Reader in);

void put_lock(Writer& out, const LockBody& body);
void put_pass(Writer& out, const LockPass& pass);
void put_standing(Writer& out, const LockStanding& standing);
void put_voters(Writer& out, const LockVoters& voters);
void put_voter_set(Writer& out, const VoterSetBody& body);

}  // namespace tempo::wire
