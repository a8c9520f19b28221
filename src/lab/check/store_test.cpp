#include "lab/check/store.h"

#include <string>

#include <gtest/gtest.h>

#include "lab/check/flat_map.h"

namespace tempo::check {
namespace {

TEST(Store, NumbersStringsInTheOrderOfAddition) {
  Store store;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    const std::string text = "state " + std::to_string(i * 7919);
    const Store::Added added = store.add(text, Store::hash(text), i / 2);
    EXPECT_TRUE(added.fresh);
    EXPECT_EQ(added.number, i);
  }
  EXPECT_EQ(store.size(), 5'000U);
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    const std::string text = "state " + std::to_string(i * 7919);
    const Store::Added again = store.add(text, Store::hash(text), 77);
    EXPECT_FALSE(again.fresh);
    EXPECT_EQ(again.number, i);
    EXPECT_EQ(store.at(i), text);
    EXPECT_EQ(store.from(i), i / 2);
    EXPECT_EQ(store.find(text, Store::hash(text)), i);
  }
  EXPECT_EQ(store.find("none", Store::hash("none")), Store::kNone);
}

TEST(Store, DistinguishesStringsWithTheSameHash) {
  Store store;
  for (std::uint32_t i = 0; i < 200; ++i) EXPECT_TRUE(store.add(std::to_string(i), 42).fresh);
  for (std::uint32_t i = 0; i < 200; ++i) EXPECT_EQ(store.find(std::to_string(i), 42), i);
}

TEST(Store, KeepsPlacesBeyondOneBlock) {
  Store store;
  for (std::uint32_t i = 0; i < 70'000; ++i) {
    const std::string text = std::to_string(i);
    store.add(text, Store::hash(text));
  }
  for (const std::uint32_t i : {0U, 65'535U, 65'536U, 69'999U})
    EXPECT_EQ(store.at(i), std::to_string(i));
}

// With fingerprints only the hash counts, also for forgotten strings.
TEST(Store, RecognizesForgottenStringsByFingerprint) {
  Store store{Store::Keeps::fingerprints};
  const auto text = [](std::uint32_t i) { return "state " + std::to_string(i); };
  for (std::uint32_t i = 0; i < 70'000; ++i) store.add(text(i), Store::hash(text(i)), i / 2);
  const std::size_t before = store.bytes();
  store.forget_before(69'000);
  EXPECT_LT(store.bytes() + 500'000, before);
  for (std::uint32_t i = 70'000; i < 140'000; ++i) store.add(text(i), Store::hash(text(i)), i / 2);
  EXPECT_EQ(store.size(), 140'000U);
  for (const std::uint32_t i : {0U, 68'999U, 69'000U, 100'000U, 139'999U}) {
    EXPECT_EQ(store.find(text(i), Store::hash(text(i))), i);
    EXPECT_EQ(store.from(i), i / 2);
    EXPECT_TRUE(store.is(i, text(i), Store::hash(text(i))));
    EXPECT_EQ(store.find("something else", Store::hash(text(i))), i);
  }
  EXPECT_EQ(store.find("none", Store::hash("none")), Store::kNone);
  for (const std::uint32_t i : {69'000U, 100'000U, 139'999U}) EXPECT_EQ(store.at(i), text(i));
}

TEST(FlatMap, FindsInsertedKeys) {
  FlatMap map;
  EXPECT_EQ(map.find(0), FlatMap::kNone);
  for (std::uint32_t i = 0; i < 10'000; ++i) map.insert(std::uint64_t{i} << 32, i);
  for (std::uint32_t i = 0; i < 10'000; ++i) EXPECT_EQ(map.find(std::uint64_t{i} << 32), i);
  EXPECT_EQ(map.find(1), FlatMap::kNone);
}

}  // namespace
}  // namespace tempo::check
