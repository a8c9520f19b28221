// Renames unbounded numbers to small ones, so that the state space is finite.
//
// A sequence number matters only by its order among the live numbers from the same sender to the
// same receiver (in a message under way, or waiting for an acknowledgement), and by whether that
// receiver has received it. The number of a call matters only by its order among the sender's
// calls. The live numbers of a sender are therefore renamed 1, 2, 3 ...: first the calls, then
// receiver by receiver, each in their order; and a node's record of received numbers is reduced to
// these. Rounds of epochs keep their differences, because a new master adds one to the round it has
// seen: the same amount is subtracted from all of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/ids.h"
#include "machine/fields.h"

namespace tempo::check {

inline constexpr std::uint32_t kMaxNodes = 8;

struct Numbers {
  static constexpr std::uint32_t kNoRound = 0xffffffff;

  // Bit i stands for number i.
  std::array<std::uint32_t, kMaxNodes> calls{};                            // of each sender
  std::array<std::array<std::uint32_t, kMaxNodes>, kMaxNodes> messages{};  // [from][to]
  std::uint32_t least_round = kNoRound;
  bool too_many = false;  // some number is 32 or more

  void call(NodeId of, std::uint32_t number) {
    if (index(of) < kMaxNodes) mention(calls[index(of)], number);
  }
  void message(NodeId from, NodeId to, std::uint32_t number) {
    if (index(from) < kMaxNodes && index(to) < kMaxNodes)
      mention(messages[index(from)][index(to)], number);
  }
  void round(std::uint32_t number) { least_round = std::min(least_round, number); }
  bool none() const { return *this == Numbers{}; }
  bool operator==(const Numbers&) const = default;

  // The new names. A number that is not live gets the name of the next lower live number.
  std::uint32_t call_name(NodeId of, std::uint32_t number) const {
    return index(of) < kMaxNodes ? not_higher(calls[index(of)], number) : number;
  }
  std::uint32_t message_name(NodeId from, NodeId to, std::uint32_t number) const {
    if (index(from) >= kMaxNodes || index(to) >= kMaxNodes) return number;
    const std::uint32_t rank = not_higher(messages[index(from)][index(to)], number);
    return rank == 0 ? 0 : rank + named_before(from, index(to));
  }
  std::uint32_t last_name(NodeId of) const { return named_before(of, kMaxNodes); }
  std::uint32_t shift() const {
    return least_round == kNoRound || least_round == 0 ? 0 : least_round - 1;
  }

 private:
  void mention(std::uint32_t& set, std::uint32_t number) {
    if (number == 0) return;
    if (number < 32)
      set |= std::uint32_t{1} << number;
    else
      too_many = true;
  }
  static std::uint32_t not_higher(std::uint32_t set, std::uint32_t number) {
    const std::uint32_t mask = number >= 31 ? ~std::uint32_t{0} : (std::uint32_t{2} << number) - 1;
    return static_cast<std::uint32_t>(std::popcount(set & mask));
  }
  std::uint32_t named_before(NodeId from, std::uint32_t to) const {
    auto count = static_cast<std::uint32_t>(std::popcount(calls[index(from)]));
    for (std::uint32_t i = 0; i < to; ++i)
      count += static_cast<std::uint32_t>(std::popcount(messages[index(from)][i]));
    return count;
  }
};

// Collects the live numbers of a machine, or of a message from `holder` to `about`. `All` is
// Numbers or a larger equivalent.
template <class All>
class NumberReader : public FieldWalk<NumberReader<All>> {
 public:
  NumberReader(NodeId holder, NodeId about, All& numbers)
      : holder_(holder), about_(about), numbers_(&numbers) {}

  template <class T>
  void leaf(const char* /*name*/, T& value) {
    using Plain = std::remove_const_t<T>;
    if constexpr (std::same_as<Plain, Sequence>)
      numbers_->message(holder_, about_, std::to_underlying(value));
    if constexpr (std::same_as<Plain, Epoch>)
      if (value.round != 0) numbers_->round(value.round);
  }
  template <role::Role kRole, class T>
  void in_role(const char* /*name*/, T& value) {
    if constexpr (kRole == role::about) {
      if (value != kNobody) about_ = value;
    } else if constexpr (kRole == role::theirs) {
      numbers_->message(about_, holder_, static_cast<std::uint32_t>(value));
    } else if constexpr (kRole == role::call) {
      numbers_->call(holder_, static_cast<std::uint32_t>(value));
    } else if constexpr (kRole == role::their_call) {
      numbers_->call(about_, static_cast<std::uint32_t>(value));
    } else if constexpr (kRole == role::round) {
      numbers_->round(value);
    }  // the others are not live by themselves
  }

 private:
  NodeId holder_;
  NodeId about_;
  All* numbers_;
};

// Renames the numbers; `all` holds the live numbers of the whole world.
template <class All>
class NumberWriter : public FieldWalk<NumberWriter<All>> {
 public:
  NumberWriter(NodeId holder, NodeId about, const All& all)
      : holder_(holder), about_(about), all_(&all) {}

  template <class T>
  void leaf(const char* /*name*/, T& value) {
    if constexpr (std::same_as<T, Sequence>)
      value = Sequence{all_->message_name(holder_, about_, std::to_underlying(value))};
    if constexpr (std::same_as<T, Epoch>)
      if (value.round != 0) value.round -= all_->shift();
  }
  template <role::Role kRole, class T>
  void in_role(const char* /*name*/, T& value) {
    const auto rename = [&](auto name) { value = static_cast<T>(name); };
    if constexpr (kRole == role::about) {
      if (value != kNobody) about_ = value;
    } else if constexpr (kRole == role::theirs || kRole == role::highest) {
      highest_ = static_cast<std::uint32_t>(value);
      rename(all_->message_name(about_, holder_, highest_));
    } else if constexpr (kRole == role::seen) {
      value = renamed_seen(value);
    } else if constexpr (kRole == role::call) {
      rename(all_->call_name(holder_, static_cast<std::uint32_t>(value)));
    } else if constexpr (kRole == role::their_call || kRole == role::newest_call) {
      rename(all_->call_name(about_, static_cast<std::uint32_t>(value)));
    } else if constexpr (kRole == role::last) {
      rename(all_->last_name(holder_));
    } else if constexpr (kRole == role::round) {
      value -= all_->shift();
    }
  }

 private:
  // `seen` belongs to the highest number visited just before.
  template <class Bits>
  Bits renamed_seen(Bits seen) const {
    Bits kept = 0;
    const std::uint32_t new_highest = all_->message_name(about_, holder_, highest_);
    if (new_highest == 0) return kept;
    for (std::uint32_t left = all_->messages[index(about_)][index(holder_)]; left != 0;
         left &= left - 1) {
      const auto number = static_cast<std::uint32_t>(std::countr_zero(left));
      if (number <= highest_ && highest_ - number < 64 && (seen >> (highest_ - number) & 1) != 0)
        kept |= Bits{1} << (new_highest - all_->message_name(about_, holder_, number));
    }
    return kept;
  }

  NodeId holder_;
  NodeId about_;
  const All* all_;
  std::uint32_t highest_ = 0;  // before its renaming
};

}  // namespace tempo::check
