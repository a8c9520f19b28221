// A map from nodes to small values. Single entries cannot be removed; `clear` removes all.
//
// The first `kInline` entries are stored inline in an array; a larger map is a hash table with open
// addressing. A follower that knows two peers allocates no memory, and a master of a hundred
// thousand nodes pays only for its own table.
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

template <class Value, std::uint32_t kInline = 0>
class NodeMap {
  static_assert(kInline <= 2);  // the smallest hash table has four slots

 public:
  struct Slot {
    NodeId key = kNobody;
    Value value{};
  };

  using Slots = std::conditional_t<kInline == 0, std::vector<Slot>, SmallVector<Slot, kInline>>;

  std::size_t size() const { return size_; }
  void clear() {
    slots_.clear();
    size_ = 0;
  }

  const Value* find(NodeId key) const {
    if (key == kNobody) return nullptr;  // kNobody marks empty slots
    if (is_inline()) {
      const auto slot = std::ranges::find(slots_, key, &Slot::key);
      return slot != slots_.end() ? &slot->value : nullptr;
    }
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  // Prefetches the slot where `find` starts to look for this key.
  void fetch_ahead(NodeId key) const {
    if (!is_inline()) __builtin_prefetch(&slots_[hash(key) & (slots_.size() - 1)]);
  }

  // The value of this key; a new key gets a default-constructed value.
  Value& operator[](NodeId key) {
    CHECK(index(key) < kMaxNodes);
    if (is_inline()) {
      for (Slot& slot : slots_)
        if (slot.key == key) return slot.value;
      if (size_ < kInline) {
        slots_.push_back({.key = key});
        ++size_;
        return slots_.back().value;
      }
    }
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    Slot& slot = slots_[slot_of(key)];
    if (slot.key == kNobody) {
      slot.key = key;
      ++size_;
    }
    return slot.value;
  }

  // All entries, ascending by key: the result does not depend on the order of insertion.
  std::vector<Slot> sorted() const {
    std::vector<Slot> all;
    all.reserve(size_);
    for (const Slot& slot : slots_)
      if (slot.key != kNobody) all.push_back(slot);
    std::ranges::sort(all, {}, &Slot::key);
    return all;
  }

 private:
  bool is_inline() const { return slots_.size() <= kInline; }

  static std::size_t hash(NodeId key) {
    return (index(key) * std::size_t{0x9e3779b97f4a7c15}) >> 32;
  }

  // Index of the key's slot, or of the empty slot for it. The loop ends because at least a quarter
  // of the slots is empty.
  std::size_t slot_of(NodeId key) const {
    for (std::size_t at = hash(key);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.key == key || slot.key == kNobody) return at & (slots_.size() - 1);
    }
  }

  void grow() {
    Slots old = std::exchange(slots_, Slots(std::max<std::size_t>(4, slots_.size() * 2)));
    for (Slot& slot : old)
      if (slot.key != kNobody) slots_[slot_of(slot.key)] = std::move(slot);
  }

  Slots slots_;  // at most kInline, or a power of two, at most 4/3 of kMaxNodes rounded up
  std::uint32_t size_ = 0;
};

}  // namespace tempo
