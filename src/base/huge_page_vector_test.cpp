#include "base/huge_page_vector.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tempo {
namespace {

// Covers every kind of remapping: small, from small to large, large.
TEST(HugePageVector, KeepsItsItemsWhileItGrows) {
  HugePageVector<std::uint32_t> numbers;
  EXPECT_TRUE(numbers.empty());
  constexpr std::uint32_t kMany = 3'000'000;
  for (std::uint32_t i = 0; i < kMany; ++i) numbers.push_back(i * 2654435761U);
  ASSERT_EQ(numbers.size(), kMany);
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < kMany; ++i) wrong += numbers[i] != i * 2654435761U ? 1U : 0U;
  EXPECT_EQ(wrong, 0U);
  EXPECT_GE(numbers.bytes(), kMany * sizeof(std::uint32_t));
  EXPECT_LE(numbers.bytes(), kMany * sizeof(std::uint32_t) + (std::size_t{2} << 20));
}

TEST(HugePageVector, IsFilledWithZeros) {
  for (const std::size_t count : {std::size_t{1000}, std::size_t{2'000'000}}) {
    const HugePageVector<std::uint32_t> numbers(count);
    ASSERT_EQ(numbers.size(), count);
    std::uint32_t all = 0;
    for (std::size_t i = 0; i < count; ++i) all |= numbers[i];
    EXPECT_EQ(all, 0U);
  }
}

TEST(HugePageVector, AppendsAndMoves) {
  HugePageVector<char> text;
  text.append("abc", 3);
  text.append("defg", 4);
  HugePageVector<char> other = std::move(text);
  ASSERT_EQ(other.size(), 7U);
  EXPECT_EQ(other[0], 'a');
  EXPECT_EQ(other[6], 'g');
  other = HugePageVector<char>(2);
  EXPECT_EQ(other.size(), 2U);
  EXPECT_EQ(other[1], 0);
}

// The kernel uses huge pages only for memory that is aligned to one.
TEST(HugePageAllocator, AlignsLargeBlocksToHugePages) {
  const auto address = [](const auto& vector) {
    return reinterpret_cast<std::uintptr_t>(vector.data());
  };
  struct alignas(64) Line {
    std::uint64_t number = 0;
  };
  const std::vector<Line, HugePageAllocator<Line>> few(3, Line{7});
  EXPECT_EQ(address(few) % 64, 0U);
  EXPECT_EQ(few[2].number, 7U);
  std::vector<Line, HugePageAllocator<Line>> many(100'000, Line{9});
  EXPECT_EQ(address(many) % (std::uintptr_t{2} << 20), 0U);
  EXPECT_EQ(many.back().number, 9U);
  const std::uintptr_t before = address(many);
  const std::vector<Line, HugePageAllocator<Line>> moved = std::move(many);
  EXPECT_EQ(address(moved), before);
}

}  // namespace
}  // namespace tempo
