#include "base/closest.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace tempo {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("lock", "lock"), 0U);
  EXPECT_EQ(edit_distance("", "lock"), 4U);
  EXPECT_EQ(edit_distance("lock", ""), 4U);
  EXPECT_EQ(edit_distance("lock", "locks"), 1U);
  EXPECT_EQ(edit_distance("lock", "lok"), 1U);
  EXPECT_EQ(edit_distance("lock", "lack"), 1U);
  EXPECT_EQ(edit_distance("port", "prot"), 1U);
  EXPECT_EQ(edit_distance("no_wait", "no-wait"), 0U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // the swapped characters stay neighbours
}

constexpr std::array<std::string_view, 5> kNames{"status", "lock", "locks", "members", "port"};

std::string_view meant(std::string_view word) {
  const std::size_t index = closest(word, kNames);
  return index == kNames.size() ? "" : kNames.at(index);
}

TEST(Closest, IsTheCandidateWithTheFewestEdits) {
  EXPECT_EQ(meant("stauts"), "status");
  EXPECT_EQ(meant("locks"), "locks");
  EXPECT_EQ(meant("lokcs"), "locks");
  EXPECT_EQ(meant("prot"), "port");
  EXPECT_EQ(meant("membrs"), "members");
}

TEST(Closest, TakesTheFirstOfSeveral) { EXPECT_EQ(meant("lockz"), "lock"); }

TEST(Closest, AllowsOneEditPerThreeCharacters) {
  EXPECT_EQ(meant("mambars"), "members");
  EXPECT_EQ(meant("mambarz"), "");
  EXPECT_EQ(meant("prr"), "");
  EXPECT_EQ(meant("pot"), "port");
}

TEST(Closest, CompletesAPrefixOfThreeCharacters) {
  EXPECT_EQ(meant("mem"), "members");
  EXPECT_EQ(meant("me"), "");
}

TEST(Closest, IsNoneForAnEmptyOrLongWordOrWithoutCandidates) {
  EXPECT_EQ(meant(""), "");
  EXPECT_EQ(meant("xylophone"), "");
  EXPECT_EQ(closest("lock", {}), 0U);
  const std::string longest(64, 'x'), longer(65, 'x');
  const std::array<std::string_view, 2> names{longer, longest};
  EXPECT_EQ(closest(longest, names), 1U);
  EXPECT_EQ(closest(longer, names), 2U);
}

}  // namespace
}  // namespace tempo
