#include "lab/sim/radix_heap.h"

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::sim {
namespace {

struct Entry {
  std::uint64_t key = 0;
  int name = 0;
  bool operator==(const Entry&) const = default;
};

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::vector<int> drain(RadixHeap<Entry>& heap) {
  std::vector<int> names;
  for (Entry entry; heap.pop_before(kNoLimit, entry);) names.push_back(entry.name);
  return names;
}

TEST(RadixHeap, IsEmptyAtFirst) {
  RadixHeap<Entry> heap;
  Entry entry{.key = 7, .name = 7};
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.size(), 0U);
  EXPECT_FALSE(heap.pop_before(kNoLimit, entry));
  EXPECT_EQ(entry, (Entry{.key = 7, .name = 7}));
}

TEST(RadixHeap, PopsTheSmallestKeyFirst) {
  RadixHeap<Entry> heap;
  int name = 0;
  for (const std::uint64_t key : {5000U, 3U, 1'000'000U, 0U, 4096U, 31U, 32U})
    heap.push({key, ++name});
  EXPECT_EQ(heap.size(), 7U);
  EXPECT_EQ(drain(heap), (std::vector{4, 2, 6, 7, 5, 1, 3}));
  EXPECT_TRUE(heap.empty());
}

TEST(RadixHeap, KeepsTheOrderOfEqualKeys) {
  RadixHeap<Entry> heap;
  heap.push({900, 1});
  heap.push({500, 2});
  heap.push({900, 3});
  Entry entry;
  ASSERT_TRUE(heap.pop_before(kNoLimit, entry));
  EXPECT_EQ(entry.name, 2);
  heap.push({900, 4});  // pushed when 900 was nearer than before
  heap.push({500, 5});  // the same key as the last one popped
  EXPECT_EQ(drain(heap), (std::vector{5, 1, 3, 4}));
}

TEST(RadixHeap, PopsNothingAtTheLimit) {
  RadixHeap<Entry> heap;
  heap.push({100, 1});
  Entry entry;
  EXPECT_FALSE(heap.pop_before(99, entry));
  EXPECT_FALSE(heap.pop_before(100, entry));
  EXPECT_TRUE(heap.pop_before(101, entry));
  EXPECT_EQ(entry.name, 1);
}

// After a refused pop the caller may push an earlier key.
TEST(RadixHeap, AcceptsAnEarlierKeyAfterARefusedPop) {
  RadixHeap<Entry> heap;
  heap.push({1000, 1});
  Entry entry;
  EXPECT_FALSE(heap.pop_before(500, entry));
  EXPECT_EQ(heap.size(), 1U);
  heap.push({600, 2});
  EXPECT_FALSE(heap.pop_before(550, entry));
  heap.push({550, 3});
  EXPECT_EQ(drain(heap), (std::vector{3, 2, 1}));
}

// More items than fit a sorted front are pushed between two keys, in descending order.
TEST(RadixHeap, AcceptsManyItemsBetweenTwo) {
  RadixHeap<Entry> heap;
  heap.push({10'000, 0});
  heap.push({20'000, 1000});
  Entry entry;
  ASSERT_TRUE(heap.pop_before(kNoLimit, entry));
  std::vector<int> expected;
  for (int i = 200; i >= 1; --i) heap.push({10'000 + static_cast<std::uint64_t>(i), i});
  for (int i = 1; i <= 200; ++i) {
    heap.push({10'000 + static_cast<std::uint64_t>(i), -i});  // behind the item with the same key
    expected.push_back(i);
    expected.push_back(-i);
  }
  expected.push_back(1000);
  EXPECT_EQ(heap.size(), expected.size());
  EXPECT_EQ(drain(heap), expected);
}

TEST(RadixHeap, AcceptsLargeKeys) {
  RadixHeap<Entry> heap;
  const std::uint64_t large = std::uint64_t{1} << 62;
  heap.push({large + 1, 1});
  heap.push({large, 2});
  heap.push({std::uint64_t{1} << 40, 3});  // differ only above the 32nd bit
  heap.push({0, 4});
  EXPECT_EQ(drain(heap), (std::vector{4, 3, 2, 1}));
}

// Keys this close let the front hold a few of them at a time, as in a world of ten thousand nodes.
TEST(RadixHeap, AnnouncesItemsBeforePoppingThem) {
  RadixHeap<Entry> heap;
  for (int i = 0; i < 2000; ++i) heap.push({static_cast<std::uint64_t>(i) * 300 + 17, i});
  std::set<int> soon;
  std::set<int> next;
  std::size_t early = 0;  // items announced before an item shortly before them was popped
  for (Entry entry; heap.pop_before(
           kNoLimit, entry, [&](const Entry& item) { soon.insert(item.name); },
           [&](const Entry& item) { next.insert(item.name); });) {
    EXPECT_TRUE(soon.contains(entry.name)) << entry.name;
    EXPECT_TRUE(next.contains(entry.name)) << entry.name;
    early += soon.contains(entry.name + 20) ? 1U : 0U;
    for (const int name : next) EXPECT_LT(name, entry.name + 10);
    next.erase(entry.name);
  }
  EXPECT_EQ(soon.size(), 2000U);
  EXPECT_GT(early, 1000U);
}

TEST(RadixHeapDeathTest, RefusesAKeyBelowTheLastPopped) {
  RadixHeap<Entry> heap;
  heap.push({100, 1});
  Entry entry;
  ASSERT_TRUE(heap.pop_before(kNoLimit, entry));
  heap.push({100, 2});
  EXPECT_DEATH(heap.push({99, 3}), "item.key >= last_");
}

}  // namespace
}  // namespace tempo::sim
