// A monotone priority queue: what is pushed is never earlier than what was popped last.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) with digits of five bits. An item lies on the
// level of the highest digit in which its key differs from the last key popped, in the bucket of
// its own digit there. When the front is used up the lowest bucket is taken apart: its smallest key
// becomes the front, the other items move to lower levels. Five bits were measured best of one to
// eight: half the time of single bits, a third of std::priority_queue's at ten thousand items.
//
// Items of one key leave in the order they came: buckets are filled at the end and emptied from the
// front, so no sequence number has to be stored.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace tempo::sim {

template <class Item>  // has a std::uint64_t `key`
class RadixHeap {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(const Item& item) {
    CHECK(item.key >= last_);
    put(item);
    ++size_;
  }

  // The first item, unless its key is `limit` or more. What is refused is left untouched, so that
  // something earlier may still be pushed. `soon(item)` is told of items that will come out next,
  // in no particular order and not of all: a chance to fetch what they need.
  template <class Soon>
  bool pop_before(std::uint64_t limit, Item& item, Soon soon) {
    if (head_ == front_.size()) {
      if (used_levels_ == 0) return false;
      const auto level = static_cast<std::size_t>(std::countr_zero(used_levels_));
      const auto digit = static_cast<std::size_t>(std::countr_zero(used_digits_[level]));
      std::vector<Item>& bucket = buckets_[level][digit];
      if (bucket.size() == 1) {  // most often
        if (bucket[0].key >= limit) return false;
        item = bucket[0];
        last_ = item.key;
        bucket.clear();
        mark_empty(level, digit);
        --size_;
        return true;
      }
      if (!take_apart(level, digit, limit, soon)) return false;
    }
    if (last_ >= limit) return false;
    item = front_[head_++];
    --size_;
    return true;
  }
  bool pop_before(std::uint64_t limit, Item& item) {
    return pop_before(limit, item, [](const Item&) {});
  }

 private:
  static constexpr std::size_t kBits = 5;
  static constexpr std::size_t kDigits = 1U << kBits;
  static constexpr std::size_t kLevels = 64 / kBits + 1;
  static constexpr std::size_t kFew = 16;  // so many items are worth a word to `soon`

  void put(const Item& item) {
    const std::uint64_t differs = item.key ^ last_;
    if (differs == 0) {
      front_.push_back(item);
      return;
    }
    const std::size_t level = static_cast<std::size_t>(63 - std::countl_zero(differs)) / kBits;
    const std::size_t digit = item.key >> (kBits * level) & (kDigits - 1);
    buckets_[level][digit].push_back(item);
    used_digits_[level] |= 1U << digit;
    used_levels_ |= 1U << level;
  }

  // Takes the lowest bucket apart, if there is something in it before the limit.
  template <class Soon>
  bool take_apart(std::size_t level, std::size_t digit, std::uint64_t limit, Soon soon) {
    std::vector<Item>& bucket = buckets_[level][digit];
    std::uint64_t smallest = bucket[0].key;
    for (const Item& item : bucket) smallest = std::min(smallest, item.key);
    if (smallest >= limit) return false;
    last_ = smallest;
    front_.clear();
    head_ = 0;
    mark_empty(level, digit);
    if (bucket.size() <= kFew)
      for (const Item& item : bucket) soon(item);
    for (const Item& item : bucket) put(item);  // all to lower levels, or to the front
    bucket.clear();
    return true;
  }

  void mark_empty(std::size_t level, std::size_t digit) {
    used_digits_[level] &= ~(1U << digit);
    if (used_digits_[level] == 0) used_levels_ &= ~(1U << level);
  }

  std::array<std::array<std::vector<Item>, kDigits>, kLevels> buckets_;
  std::array<std::uint32_t, kLevels>
      used_digits_{};              // bit i: bucket i of the level holds something
  std::uint32_t used_levels_ = 0;  // bit i: level i holds something
  std::uint64_t last_ = 0;         // the key popped last
  std::vector<Item> front_;        // all of key last_
  std::size_t head_ = 0;           // what lies before it in front_ has been popped
  std::size_t size_ = 0;
};

}  // namespace tempo::sim
