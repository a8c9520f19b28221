// Sequence numbers of one peer: 16 bits on the wire, from a random start, against the numbers of
// the election machine, which count from 1.
//
// TSP carries no incarnation and reuses numbers after a restart, so a number alone does not name a
// message. A message is a duplicate if a message of the same type with the same number has arrived
// within the last `kMemory` messages and the last `span`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/wire/tsp.h"

namespace tempo::classic {

class IncomingNumbers {
 public:
  struct Numbered {
    Sequence sequence = kNoSequence;
    bool fresh = false;  // not a duplicate
  };

  Numbered number(Instant now, wire::tsp::Type type, std::uint16_t sequence, Nanos span) {
    for (const Entry& entry : entries_)
      if (entry.number != 0 && entry.type == type && entry.sequence == sequence &&
          now - entry.at <= span)
        return {Sequence{entry.number}, false};
    Entry& oldest = entries_[last_++ % kMemory];
    oldest = {.at = now, .number = last_, .sequence = sequence, .type = type};
    return {Sequence{last_}, true};
  }

 private:
  static constexpr std::size_t kMemory = 16;

  struct Entry {
    Instant at{};
    std::uint32_t number = 0;  // 0: unused
    std::uint16_t sequence = 0;
    wire::tsp::Type type = wire::tsp::Type::ack;
  };
  std::array<Entry, kMemory> entries_{};
  std::uint32_t last_ = 0;
};

class OutgoingNumbers {
 public:
  OutgoingNumbers() = default;
  explicit OutgoingNumbers(std::uint16_t base) : base_(base) {}

  std::uint16_t on_wire(Sequence sequence) {
    const std::uint32_t number = std::to_underlying(sequence);
    last_ = number > last_ ? number : last_;
    return static_cast<std::uint16_t>(base_ + number);
  }
  // The newest number sent that reads like this on the wire; kNoSequence: none.
  Sequence sent(std::uint16_t sequence) const {
    const auto age = static_cast<std::uint16_t>(base_ + last_ - sequence);
    return age >= last_ ? kNoSequence : Sequence{last_ - age};
  }

 private:
  std::uint16_t base_ = 0;
  std::uint32_t last_ = 0;
};

}  // namespace tempo::classic
