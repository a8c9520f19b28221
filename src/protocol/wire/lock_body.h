// What members say to each other of locks (doc/internals/lease.md), as datagrams carry it: hosts by
// their ids, locks by their names.
//
// Kinds and reasons count as the lock's own enumerations do. A field that a kind does not use is 0.
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

// The waiters of a third member, as the sender of a PASS knows them.
struct LockStanding {
  HostId member = kNoHost;
  std::uint32_t boot = 0;
  std::uint32_t k = 0;
  LockWaiters waiting{};

  bool operator==(const LockStanding&) const = default;
};

// What only a PASS says.
struct LockPass {
  HostId target = kNoHost;
  std::uint32_t sub = 0;
  Nanos left{0};  // not negative
  std::uint64_t ticket = 0;
  InlineVector<LockStanding, kMaxLockStandings> standings{};  // each a section of its own

  bool operator==(const LockPass&) const = default;
};

struct LockVoter {
  HostId host = kNoHost;  // of a chair that is free: none
  std::uint8_t votes = 0;

  bool operator==(const LockVoter&) const = default;
};

// Who votes, by chairs up to the last that is taken.
struct LockVoters {
  static constexpr std::size_t kMost = 8;

  std::uint64_t count = 0;   // of the ballot under which it was proposed; 0: it is in force
  std::uint32_t number = 0;  // of the view; 0: nothing is said
  InlineVector<LockVoter, kMost> chairs{};

  bool operator==(const LockVoters&) const = default;
};

struct LockBody {
  static constexpr std::uint8_t kKinds = 9;
  static constexpr std::uint8_t kWhys = 6;

  std::uint8_t kind = 0;
  std::uint8_t why = 0;
  bool shared = false;
  bool held = false;
  LockName name{};  // empty: of all locks
  std::uint32_t view = 0;
  std::uint32_t boot = 0;
  std::uint32_t k = 0;
  std::uint32_t to_boot = 0;
  std::uint32_t to_k = 0;
  std::uint32_t named = 0;  // voters, as bits by their chairs
  LockBallot ballot{};
  std::uint64_t top = 0;
  Nanos length{0};  // not negative
  std::uint64_t nonce = 0;
  std::uint64_t reserve = 0;
  LockWaiters waiting{};
  InlineVector<LockBallot, kMaxLockEnds> ends{};
  LockPass pass{};    // a section of its own, of those that have a target
  LockVoters set{};   // a section of its own, if something is said: the view in force
  LockVoters next{};  // another: what was accepted or is proposed to follow it

  bool operator==(const LockBody&) const = default;
};

// Who the first voters are to be, while it is being agreed.
struct VoterSetBody {
  enum class Stage : std::uint8_t { proposed, ready, committed };
  static constexpr std::uint8_t kStages = 3;
  static constexpr std::size_t kMost = 8;

  Stage stage = Stage::proposed;
  InlineVector<HostId, kMost> voters{};

  bool operator==(const VoterSetBody&) const = default;
};

// Bodies of sections, without tag and length.
inline constexpr std::size_t kLockFixedBytes = 78;  // of a lock section, before its lists and name
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
    kLockVotersFixedBytes + LockVoters::kMost * kLockVoterBytes;
inline constexpr std::size_t kMaxRosterBytes = 2 + VoterSetBody::kMost * sizeof(HostId);

Result<LockBody, Error> take_lock(Reader in);  // without its pass and its voters
Result<LockPass, Error> take_pass(Reader in);  // without its standings
Result<LockStanding, Error> take_standing(Reader in);
Result<LockVoters, Error> take_voters(Reader in);
Result<VoterSetBody, Error> take_roster(Reader in);

void put_lock(Writer& out, const LockBody& body);
void put_pass(Writer& out, const LockPass& pass);
void put_standing(Writer& out, const LockStanding& standing);
void put_voters(Writer& out, const LockVoters& voters);
void put_roster(Writer& out, const VoterSetBody& body);

}  // namespace tempo::wire
