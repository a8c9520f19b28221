// What members say of locks in which silence is consent (doc/internals/lock.md), and the beats by
// which they measure whether it may be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/inline_vector.h"
#include "base/result.h"
#include "protocol/wire/bytes.h"
#include "protocol/wire/error.h"
#include "protocol/wire/lock_body.h"

namespace tempo::wire {

// About one lock. Kinds count as those of the machine do: request, negative, positive, restart,
// answer.
struct MutexBody {
  static constexpr std::uint8_t kKinds = 5;

  std::uint8_t kind = 0;
  bool shared = false;
  bool reply = false;  // of a request: silence is not enough
  LockName name{};     // not empty
  std::uint32_t view = 0;
  std::uint64_t number = 0;
  std::uint64_t ahead = 0;
  std::uint32_t life = 0;

  bool operator==(const MutexBody&) const = default;
};

// What its sender has exchanged with each member, in the order of their chairs.
struct BeatBody {
  static constexpr std::size_t kMost = 8;

  struct Entry {
    std::uint32_t life = 0;    // of the member, as last heard; 0: never
    std::uint32_t heard = 0;   // the number of its last beat; 0: none
    std::uint32_t age_us = 0;  // since that came
    std::uint32_t received =
        0;                   // words about quiet locks that came from it before that, in that life
    std::uint32_t sent = 0;  // and that were sent to it, in all lives

    bool operator==(const Entry&) const = default;
  };

  std::uint32_t view = 0;
  std::uint32_t number = 0;  // counts the beats of one life, from 1
  bool busy = false;         // its sender has clients of quiet locks: others are to beat, too
  InlineVector<Entry, kMost> members{};

  bool operator==(const BeatBody&) const = default;
};

inline constexpr std::size_t kQuietFixedBytes = 27;  // before the name
inline constexpr std::size_t kMaxQuietBytes = kQuietFixedBytes + kMaxLockName;
inline constexpr std::size_t kBeatFixedBytes = 10;
inline constexpr std::size_t kBeatEntryBytes = 20;
inline constexpr std::size_t kMaxBeatBytes = kBeatFixedBytes + BeatBody::kMost * kBeatEntryBytes;

Result<MutexBody, Error> take_quiet(Reader in);
Result<BeatBody, Error> take_beat(Reader in);
void put_quiet(Writer& out, const MutexBody& body);
void put_beat(Writer& out, const BeatBody& body);

}  // namespace tempo::wire
