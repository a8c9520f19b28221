// Messages about bounded-delay locks (doc/internals/lock.md), in which silence is consent, and the
// beats by which members measure whether the delay bounds hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/inline_vector.h"
#include "base/result.h"
#include "protocol/wire/bytes.h"
#include "protocol/wire/error.h"
#include "protocol/wire/lock_body.h"

namespace tempo::wire {

// Message about one lock. Kinds have the values of the machine's: request, negative, positive,
// restart, answer.
struct MutexBody {
  static constexpr std::uint8_t kKinds = 5;

  std::uint8_t kind = 0;
  bool shared = false;
  bool reply = false;  // request: the sender needs an explicit answer
  LockName name{};     // not empty
  std::uint32_t view = 0;
  std::uint64_t number = 0;
  std::uint64_t ahead = 0;
  std::uint32_t incarnation = 0;

  bool operator==(const MutexBody&) const = default;
};

// Message counts that the sender has exchanged with each member, in the order of their slots.
struct BeatBody {
  static constexpr std::size_t kMax = 8;

  struct Entry {
    std::uint32_t incarnation = 0;  // last known one of the member; 0: none
    std::uint32_t heard = 0;        // number of its last beat; 0: none
    std::uint32_t age_us = 0;       // time since that beat arrived, microseconds
    std::uint32_t received = 0;     // MutexBody messages from that incarnation before that beat
    std::uint32_t sent = 0;         // MutexBody messages sent to it, in all its incarnations

    bool operator==(const Entry&) const = default;
  };

  std::uint32_t view = 0;
  std::uint32_t number = 0;  // counts the beats of one incarnation, from 1
  bool busy = false;         // the sender has clients of such locks, so other members must beat too
  InlineVector<Entry, kMax> members{};

  bool operator==(const BeatBody&) const = default;
};

inline constexpr std::size_t kMutexFixedBytes = 27;  // before the name
inline constexpr std::size_t kMaxMutexBytes = kMutexFixedBytes + kMaxLockName;
inline constexpr std::size_t kBeatFixedBytes = 10;
inline constexpr std::size_t kBeatEntryBytes = 20;
inline constexpr std::size_t kMaxBeatBytes = kBeatFixedBytes + BeatBody::kMax * kBeatEntryBytes;

Result<MutexBody, Error> take_mutex(Reader in);
Result<BeatBody, Error> take_beat(Reader in);
void put_mutex(Writer& out, const MutexBody& body);
void put_beat(Writer& out, const BeatBody& body);

}  // namespace tempo::wire
