// A monotone priority queue: no pushed key is smaller than the key popped last.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) with digits of five bits. The front holds all
// items up to a certain key, sorted. Any other item is on the level of the highest digit in which
// its key differs from that key, in the bucket of its own digit there. When the front is empty, the
// lowest bucket becomes the front if it is small. Otherwise the heap splits it: the items with the
// smallest key become the front, the others move to lower levels. Five bits were measured best of
// four to six, and fronts of up to 32 items best of 8 to 32.
//
// Items with equal keys leave in the order in which they were pushed: buckets are filled at the end
// and emptied from the front, so no sequence number is needed.
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
    if (item.key <= front_last_)
      insert(item);
    else
      put(item);
    ++size_;
  }

  // Pops the first item unless its key is `limit` or more. A refused item stays where it is, so an
  // earlier key may still be pushed. For prefetching, `soon(item)` is called for items that will be
  // popped soon (in no particular order, some twice, some never) and `next(item)` for the next few
  // items.
  template <class Soon, class Next>
  bool pop_before(std::uint64_t limit, Item& item, Soon soon, Next next) {
    if (next_ == end_) {
      if (!refill(limit, soon)) return false;
      for (std::size_t i = 0; i < std::min(kNext, end_); ++i) next(front_[i]);
    }
    const Item& first = front_[next_];
    if (first.key >= limit) return false;
    item = first;
    ++next_;
    if (next_ + kNext <= end_) next(front_[next_ + kNext - 1]);
    last_ = item.key;
    --size_;
    return true;
  }
  bool pop_before(std::uint64_t limit, Item& item) {
    const auto nothing = [](const Item&) {};
    return pop_before(limit, item, nothing, nothing);
  }

 private:
  static constexpr std::size_t kBits = 5;
  static constexpr std::size_t kDigits = 1U << kBits;
  static constexpr std::size_t kLevels = 64 / kBits + 1;
  static constexpr std::size_t kFew = 32;  // buckets up to this size are sorted instead of split
  static constexpr std::size_t kMaxInFront = 64;  // larger fronts are split before an insertion
  static constexpr std::size_t kNext = 6;         // items announced by `next`
  static constexpr std::size_t kMaxSoon = 256;    // buckets up to this size are announced by `soon`

  // Puts an item that is after the front into its bucket.
  void put(const Item& item) {
    const std::uint64_t differs = item.key ^ front_last_;
    const std::size_t level = static_cast<std::size_t>(63 - std::countl_zero(differs)) / kBits;
    const std::size_t digit = item.key >> (kBits * level) & (kDigits - 1);
    buckets_[level][digit].push_back(item);
    used_digits_[level] |= std::uint64_t{1} << digit;
    used_levels_ |= 1U << level;
  }

  // Inserts an item into the front, behind items with the same key.
  void insert(const Item& item) {
    const bool goes_last = next_ == end_ || front_[end_ - 1].key <= item.key;
    if (!goes_last && end_ - next_ >= kMaxInFront) {
      spread();
      if (item.key > front_last_) {
        put(item);
        return;
      }
    }
    if (next_ * 2 >= end_) {  // reuse the space of popped items
      front_.erase(front_.begin(), front_.begin() + static_cast<std::ptrdiff_t>(next_));
      next_ = 0;
    }
    front_.push_back(item);
    end_ = front_.size();
    sort_in(end_ - 1);
  }
  // Moves the item at this position to its place among the sorted items before it.
  void sort_in(std::size_t at) {
    const Item item = front_[at];
    for (; at != next_ && front_[at - 1].key > item.key; --at) front_[at] = front_[at - 1];
    front_[at] = item;
  }

  // Moves all items out of the front except those with the key popped last.
  void spread() {
    front_last_ = last_;
    std::size_t kept = next_;
    while (kept != end_ && front_[kept].key == last_) ++kept;
    for (std::size_t i = kept; i < end_; ++i) put(front_[i]);
    front_.resize(kept);
    end_ = kept;
  }

  // Fills the front from the lowest bucket. Returns false if that bucket has no key below the
  // limit.
  template <class Soon>
  bool refill(std::uint64_t limit, Soon soon) {
    if (used_levels_ == 0) return false;
    const auto level = static_cast<std::size_t>(std::countr_zero(used_levels_));
    const auto digit = static_cast<std::size_t>(std::countr_zero(used_digits_[level]));
    std::vector<Item>& bucket = buckets_[level][digit];
    std::uint64_t smallest = bucket[0].key;
    for (const Item& item : bucket) smallest = std::min(smallest, item.key);
    if (smallest >= limit) return false;
    used_digits_[level] &= ~(std::uint64_t{1} << digit);
    if (used_digits_[level] == 0) used_levels_ &= ~(1U << level);
    front_.clear();
    if (bucket.size() <= kFew) {
      front_last_ = smallest | ((std::uint64_t{1} << (kBits * level)) - 1);
      front_.swap(bucket);
      next_ = 0;
      end_ = front_.size();
      for (std::size_t i = 0; i < end_; ++i) {
        soon(front_[i]);
        sort_in(i);
      }
      return true;
    }
    front_last_ = smallest;
    const bool comes_soon = bucket.size() <= kMaxSoon;
    for (const Item& item : bucket) {
      if (comes_soon) soon(item);
      if (item.key == smallest)
        front_.push_back(item);
      else
        put(item);
    }
    bucket.clear();
    next_ = 0;
    end_ = front_.size();
    return true;
  }

  std::array<std::array<std::vector<Item>, kDigits>, kLevels> buckets_;
  std::array<std::uint64_t, kLevels> used_digits_{};  // bit i: bucket i of the level is not empty
  std::uint32_t used_levels_ = 0;                     // bit i: level i is not empty
  std::uint64_t last_ = 0;                            // the key popped last
  std::uint64_t front_last_ = 0;                      // every key up to this one is in the front
  std::vector<Item> front_;                           // ascending
  std::size_t next_ = 0;  // items of front_ before this index have been popped
  std::size_t end_ = 0;   // front_.size(), kept near next_
  std::size_t size_ = 0;
};

}  // namespace tempo::sim
