// Messages about bounded-delay locks (doc/internals/lock.md), in which silence is consent, and the
// beats by which members measure whether the delay bounds hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/inline_vector.h"
#include "protocol/wire/lock_body.h"

namespace tempo::wire {

// Message about one lock. Kinds have the values of the machine's: request, negative, positive,
// restart, answer.
struct MutexBody {
  static constexpr std::uint8_t kKinds = 5;
  static constexpr std::size_t kFixedBytes = 35;  // before the name
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMaxLockName;

  std::uint8_t kind = 0;
  bool shared = false;
  bool reply = false;  // request: the sender needs an explicit answer
  LockName name{};     // not empty
  std::uint32_t view = 0;
  std::uint64_t number = 0;
  std::uint64_t ahead = 0;
  std::uint32_t incarnation = 0;
  SetId set_id = kNoSet;

  bool operator==(const MutexBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io.kind(self.kind, kKinds);
    io.flags(self.shared, self.reply);
    const auto name = io.length(self.name);
    io(self.view, self.number, self.ahead, self.incarnation, self.set_id);
    io.name(self.name, name);
  }
};

// Message counts that the sender has exchanged with each member, in the order of their slots.
struct BeatBody {
  static constexpr std::size_t kMax = 8;
  static constexpr std::size_t kFixedBytes = 18;
  static constexpr std::size_t kEntryBytes = 20;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMax * kEntryBytes;

  struct Entry {
    std::uint32_t incarnation = 0;  // last known one of the member; 0: none
    std::uint32_t heard = 0;        // number of its last beat; 0: none
    std::uint32_t age_us = 0;       // time since that beat arrived, microseconds
    std::uint32_t received = 0;     // MutexBody messages from that incarnation before that beat
    std::uint32_t sent = 0;         // MutexBody messages sent to it, in all its incarnations

    bool operator==(const Entry&) const = default;

    template <class Self, class Io>
    static void layout(Self& self, Io& io) {
      io(self.incarnation, self.heard, self.age_us, self.received, self.sent);
    }
  };

  std::uint32_t view = 0;
  std::uint32_t number = 0;  // counts the beats of one incarnation, from 1
  SetId set_id = kNoSet;
  bool busy = false;  // the sender has clients of such locks, so other members must beat too
  InlineVector<Entry, kMax> members{};

  bool operator==(const BeatBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io(self.view);
    io.not_zero(self.number);
    io.flags(self.busy);
    const auto members = io.length(self.members);
    io(self.set_id);
    io.list(self.members, members);
  }
};

}  // namespace tempo::wire
