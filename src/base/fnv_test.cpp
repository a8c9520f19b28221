#include "base/fnv.h"

#include <string_view>

#include <gtest/gtest.h>

namespace tempo {
namespace {

std::uint64_t hash_of(std::string_view text) { return fnv1a(std::as_bytes(std::span(text))); }

// Test vectors published by the authors of FNV.
TEST(Fnv, MatchesThePublishedVectors) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace tempo
