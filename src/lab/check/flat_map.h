// A map from 64-bit keys to small numbers that memoizes results: open addressing, linear probing,
// no removal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tempo::check {

class FlatMap {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = place(key);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.value == kNone || slot.key == key) return slot.value;
    }
  }

  // The key must be new and the value must not be kNone.
  void insert(std::uint64_t key, std::uint32_t value) {
    if ((size_ + 1) * 3 > slots_.size() * 2) grow();
    put(key, value);
    ++size_;
  }

  std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };

  std::size_t place(std::uint64_t key) const {
    return (key * 0x9e3779b97f4a7c15) >> 24 & (slots_.size() - 1);
  }
  void put(std::uint64_t key, std::uint32_t value) {
    std::size_t at = place(key);
    while (slots_[at].value != kNone) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, value};
  }
  void grow() {
    const std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : slots_.size() * 2));
    for (const Slot& slot : old)
      if (slot.value != kNone) put(slot.key, slot.value);
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace tempo::check
