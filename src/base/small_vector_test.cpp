#include "base/small_vector.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Pair = SmallVector<int, 2>;

Pair filled(int count) {
  Pair vector;
  for (int i = 1; i <= count; ++i) vector.push_back(i);
  return vector;
}

bool is_inline(const Pair& vector) {
  const auto* const items = reinterpret_cast<const std::byte*>(vector.data());
  const auto* const whole = reinterpret_cast<const std::byte*>(&vector);
  return items >= whole && items < whole + sizeof(vector);
}

TEST(SmallVector, StartsEmpty) {
  const Pair vector;
  EXPECT_TRUE(vector.empty());
  EXPECT_THAT(vector, IsEmpty());
}

TEST(SmallVector, StoresItsFirstItemsInline) {
  EXPECT_TRUE(is_inline(filled(2)));
  EXPECT_FALSE(is_inline(filled(3)));
  EXPECT_THAT(filled(2), ElementsAre(1, 2));
  EXPECT_THAT(filled(5), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(filled(5).front(), 1);
  EXPECT_EQ(filled(5).back(), 5);
}

TEST(SmallVector, PushesACopyOfItsOwnItem) {
  Pair vector = filled(2);
  vector.push_back(vector.front());
  EXPECT_THAT(vector, ElementsAre(1, 2, 1));
}

TEST(SmallVector, IsEmptyAfterAMove) {
  for (const int count : {2, 5}) {
    Pair from = filled(count);
    const Pair to = std::move(from);
    EXPECT_EQ(to.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(to.back(), count);
    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): under test
    from.push_back(9);
    EXPECT_THAT(from, ElementsAre(9));
  }
}

TEST(SmallVector, DefaultConstructsNewItems) {
  Pair vector = filled(1);
  vector.resize(4);
  EXPECT_THAT(vector, ElementsAre(1, 0, 0, 0));
  vector.resize(1);
  vector.emplace_back();
  EXPECT_THAT(vector, ElementsAre(1, 0));
}

// After any operations on it and on its copies, it holds the same items as a std::vector.
RC_GTEST_PROP(SmallVectorProperty, MatchesStdVector,
              (const std::vector<std::uint8_t>& operations)) {
  Pair vector;
  Pair other;
  std::vector<int> model;
  std::vector<int> other_model;
  int made = 0;
  std::size_t largest = 0;
  for (const std::uint8_t operation : operations) {
    switch (operation % 8) {
      case 0:
        if (!model.empty()) {
          vector.pop_back();
          model.pop_back();
        }
        break;
      case 1: {
        const int parity = operation / 8 % 2;
        const auto remove = [&](int item) { return item % 2 == parity; };
        vector.erase_if(remove);
        std::erase_if(model, remove);
        break;
      }
      case 2:
        std::swap(vector, other);
        std::swap(model, other_model);
        break;
      case 3:
        other = vector;
        other_model = model;
        break;
      default:
        vector.push_back(++made);
        model.push_back(made);
        break;
    }
    RC_ASSERT(std::vector<int>(vector.begin(), vector.end()) == model);
    RC_ASSERT(std::vector<int>(other.begin(), other.end()) == other_model);
    largest = std::max(largest, model.size());
  }
  RC_CLASSIFY(largest > 2, "allocated on the heap");
}

}  // namespace
}  // namespace tempo
