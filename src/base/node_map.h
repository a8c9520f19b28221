// A map from nodes to small values; nothing is ever removed but everything. The first `kInside` lie
// in the map itself, in a row; more go into a table with open addressing. So a slave that hears of
// two peers needs no memory elsewhere, and a master of a hundred thousand pays for its own list
// only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/small_vector.h"

namespace tempo {

template <class Value, std::uint32_t kInside = 0>
class NodeMap {
  static_assert(kInside <= 2);  // a table begins with four slots

 public:
  struct Slot {
    NodeId key = kNobody;
    Value value{};
  };

  using Slots = std::conditional_t<kInside == 0, std::vector<Slot>, SmallVector<Slot, kInside>>;

  std::size_t size() const { return size_; }
  void clear() {
    slots_.clear();
    size_ = 0;
  }

  const Value* find(NodeId key) const {
    if (key == kNobody) return nullptr;  // an empty slot's key is nobody's
    if (in_a_row()) {
      const auto slot = std::ranges::find(slots_, key, &Slot::key);
      return slot != slots_.end() ? &slot->value : nullptr;
    }
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  // Asks for the memory in which this key will be looked for soon.
  void fetch_ahead(NodeId key) const {
    if (!in_a_row()) __builtin_prefetch(&slots_[hash(key) & (slots_.size() - 1)]);
  }

  // The value of this key, made by default if it is new.
  Value& operator[](NodeId key) {
    CHECK(index(key) < kMaxNodes);
    if (in_a_row()) {
      for (Slot& slot : slots_)
        if (slot.key == key) return slot.value;
      if (size_ < kInside) {
        slots_.push_back({.key = key});
        ++size_;
        return slots_.back().value;
      }
    }
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    Slot& slot = slots_[place(key)];
    if (slot.key == kNobody) {
      slot.key = key;
      ++size_;
    }
    return slot.value;
  }

  // Ascending by key, whatever the order of insertion: equal maps look equal.
  std::vector<Slot> sorted() const {
    std::vector<Slot> all;
    all.reserve(size_);
    for (const Slot& slot : slots_)
      if (slot.key != kNobody) all.push_back(slot);
    std::ranges::sort(all, {}, &Slot::key);
    return all;
  }

 private:
  bool in_a_row() const { return slots_.size() <= kInside; }

  static std::size_t hash(NodeId key) {
    return (index(key) * std::size_t{0x9e3779b97f4a7c15}) >> 32;
  }

  // Where the key is, or the empty slot where it belongs. Ends: a quarter of the slots is empty.
  std::size_t place(NodeId key) const {
    for (std::size_t at = hash(key);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.key == key || slot.key == kNobody) return at & (slots_.size() - 1);
    }
  }

  void grow() {
    Slots old = std::exchange(slots_, Slots(std::max<std::size_t>(4, slots_.size() * 2)));
    for (Slot& slot : old)
      if (slot.key != kNobody) slots_[place(slot.key)] = std::move(slot);
  }

  Slots slots_;  // no more than kInside, or a power of two, at most 4/3 of kMaxNodes rounded up
  std::uint32_t size_ = 0;
};

}  // namespace tempo
