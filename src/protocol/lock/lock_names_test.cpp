#include "protocol/lock/lock_names.h"

#include <set>

#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using lock::LockId;

constexpr auto kNone = [](LockId) { return false; };

TEST(Names, EachNameHasItsOwnNumber) {
  Names names(3);
  const auto first = names.number("a", kNone);
  const auto second = names.number("b", kNone);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(names.number("a", kNone), first);
  EXPECT_EQ(names.find("b"), second);
  EXPECT_EQ(names.find("c"), std::nullopt);
  EXPECT_EQ(names.name_of(*second), "b");
  EXPECT_EQ(names.name_of(LockId{9}), "");
}

TEST(Names, NumbersAreLimited) {
  Names names(2);
  names.number("a", kNone);
  const auto second = names.number("b", kNone);
  EXPECT_EQ(names.number("c", kNone), std::nullopt);
  EXPECT_EQ(names.size(), 2);
  // The number of a forgotten name goes to the new one; the old name is unknown.
  EXPECT_EQ(names.number("c", [&](LockId id) { return id == *second; }), second);
  EXPECT_EQ(names.find("b"), std::nullopt);
  EXPECT_EQ(names.name_of(*second), "c");
  EXPECT_EQ(names.find("a"), LockId{0});
}

TEST(Names, ReusesForgottenNumbersFirst) {
  Names names(1000);
  for (int i = 0; i < 500; ++i)
    names.number("name" + std::to_string(i), [](LockId) { return true; });
  EXPECT_EQ(names.size(), 1);
}

}  // namespace
}  // namespace tempo::locks
