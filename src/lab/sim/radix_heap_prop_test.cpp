#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lab/sim/radix_heap.h"

namespace tempo::sim {
namespace {

struct Entry {
  std::uint64_t key = 0;
  std::size_t order = 0;  // number of the push
  bool operator==(const Entry&) const = default;
};

// A push this far ahead of the last key and, if there is a limit, pops of all keys before that
// limit.
using Operation = std::tuple<std::uint16_t, std::uint8_t, std::uint16_t>;

// Some keys differ in the low bits, some only in high bits, some not at all.
std::uint64_t ahead(std::uint16_t number, std::uint8_t shift) {
  return std::uint64_t{number} % 64 << shift % 40;
}

// For any mixture of pushes and pops, items leave by key and, within a key, in the order of their
// pushes. Items at or after the limit stay.
RC_GTEST_PROP(RadixHeapProperty, BehavesLikeAStableSortedList,
              (const std::vector<Operation>& operations)) {
  RadixHeap<Entry> heap;
  std::vector<Entry> sorted;
  std::uint64_t last = 0;
  std::size_t popped = 0;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto [number, shift, limit_number] = operations[i];
    const Entry pushed{.key = last + ahead(number, shift), .order = i};
    heap.push(pushed);
    sorted.insert(std::ranges::upper_bound(sorted, pushed.key, {}, &Entry::key), pushed);
    RC_ASSERT(heap.size() == sorted.size());
    if (limit_number % 3 == 0) continue;
    const std::uint64_t limit = last + ahead(limit_number, shift);
    Entry entry;
    while (heap.pop_before(limit, entry)) {
      RC_ASSERT(!sorted.empty());
      RC_ASSERT(entry == sorted.front());
      RC_ASSERT(entry.key < limit);
      sorted.erase(sorted.begin());
      last = entry.key;
      ++popped;
    }
    RC_ASSERT((sorted.empty() || sorted.front().key >= limit));
    if (!sorted.empty()) ++refused;
  }
  RC_CLASSIFY(popped > 0 && refused > 0, "pops some and refuses some");
  Entry entry;
  for (const Entry& expected : sorted) {
    RC_ASSERT(heap.pop_before(~std::uint64_t{0}, entry));
    RC_ASSERT(entry == expected);
  }
  RC_ASSERT(heap.empty());
}

// One large heap, emptied at once, gives the same order as std::stable_sort.
RC_GTEST_PROP(RadixHeapProperty, SortsLikeStableSort,
              (const std::vector<std::uint32_t>& keys, std::uint8_t distinct)) {
  RadixHeap<Entry> heap;
  std::vector<Entry> expected;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    expected.push_back({.key = distinct % 2 == 0 ? keys[i] : keys[i] % 8, .order = i});
    heap.push(expected.back());
  }
  std::ranges::stable_sort(expected, {}, &Entry::key);
  std::vector<Entry> popped;
  for (Entry entry; heap.pop_before(~std::uint64_t{0}, entry);) popped.push_back(entry);
  RC_ASSERT(popped == expected);
}

}  // namespace
}  // namespace tempo::sim
