#include "protocol/lock/lock_record.h"

#include <string>

#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

LockRecord sample() {
  wire::LockVoters view{.number = 3};
  view.slots.push_back({HostId{0xfedcba9876543210}, 2});
  view.slots.push_back({});
  view.slots.push_back({HostId{0xabc}, 1});
  wire::LockVoters next{.count = 99, .number = 4};
  next.slots.push_back({HostId{0xabc}, 1});
  wire::LockClaims claims;
  claims.push_back({HostId{0xfedcba9876543210}, wire::RecordId{77}, 65'541});
  return {.host = HostId{0xabc},
          .kernel = "0b7e-1",
          .place = "b17 m9f",
          .stage = LockRecord::Stage::committed,
          .number = 55,
          .above = 44,
          .voters = {HostId{0xabc}, HostId{0xfedcba9876543210}},
          .lease = Saved{.boot = lock::lease::Boot{7},
                         .reserve = 65'536,
                         .view = view,
                         .next = next,
                         .record = wire::RecordId{66},
                         .claims = claims}};
}

TEST(LockRecord, HasThisText) {
  EXPECT_EQ(sample().text(),
            "tempo-locks 2\n"
            "host 0000000000000abc\n"
            "kernel 0b7e-1\n"
            "place b17 m9f\n"
            "stage founded\n"
            "number 55\n"
            "above 44\n"
            "voters 0000000000000abc fedcba9876543210\n"
            "record 66\n"
            "boot 7\n"
            "reserve 65536\n"
            "view 3 fedcba9876543210:2 - 0000000000000abc:1\n"
            "claim fedcba9876543210 77 65541\n"
            "next 99 4 0000000000000abc:1\n"
            "end\n");
}

TEST(LockRecord, RoundTrips) {
  const auto read = parse_lock_record(sample().text());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, sample());
  EXPECT_EQ(*read->lease, *sample().lease);
  LockRecord minimal{
      .host = HostId{1}, .stage = LockRecord::Stage::ready, .number = 1, .voters = {HostId{1}}};
  EXPECT_EQ(parse_lock_record(minimal.text()), minimal);
}

TEST(LockRecord, NamesTheHighestCountInUse) {
  EXPECT_EQ(highest_count(sample()), 65'536U);
  EXPECT_EQ(highest_count({.above = 5}), 5U);
  EXPECT_EQ(highest_count({}), 0U);
}

TEST(LockRecord, KnowsItsPlace) {
  EXPECT_TRUE(same_place("b17 m9f", "b17 m9f"));
  EXPECT_FALSE(same_place("b17 m9f", "b18 m9f")) << "another directory";
  EXPECT_FALSE(same_place("b17 m9f", "b17 m9e")) << "another machine";
  EXPECT_TRUE(same_place("b17 -", "b17 m9e")) << "the machine was not known";
  EXPECT_TRUE(same_place("", "b17 m9e")) << "nothing was known";
  EXPECT_FALSE(same_place(kNowhere, "b17 m9f"));
  EXPECT_FALSE(same_place(kNowhere, ""));
}

// A truncated record counts as none: a missing record is safe, a wrong one is not.
TEST(LockRecord, IsNoneIfTruncated) {
  const std::string whole = sample().text();
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    EXPECT_FALSE(parse_lock_record(whole.substr(0, size))) << size;
}

TEST(LockRecord, IsNoneIfDamaged) {
  const auto with = [](const std::string& before, const std::string& after) {
    std::string text = sample().text();
    text.replace(text.find(before), before.size(), after);
    return parse_lock_record(text).has_value();
  };
  EXPECT_TRUE(with("boot 7", "boot 8"));
  EXPECT_FALSE(with("locks 2", "locks 1"));
  EXPECT_FALSE(with("boot 7", "boot x"));
  EXPECT_FALSE(with("boot 7", "boots 7"));
  EXPECT_FALSE(with("reserve 65536", "reserve -1"));
  EXPECT_FALSE(with("founded", "done"));
  EXPECT_FALSE(with("fedcba9876543210", "0000000000000abc")) << "duplicate voter";
  EXPECT_FALSE(with(" 0000000000000abc fedcba9876543210", "")) << "no voters";
  EXPECT_FALSE(with("host 0000000000000abc", "host 0"));
  EXPECT_TRUE(with("next 99 4 0000000000000abc:1\n", ""));
  EXPECT_FALSE(with("view 3 fedcba9876543210:2 - 0000000000000abc:1\n", "")) << "no view";
  EXPECT_FALSE(with("view 3", "view 0"));
  EXPECT_FALSE(with(":2 -", ":0 -"));
  EXPECT_FALSE(with("- 0000000000000abc:1", "- fedcba9876543210:1")) << "duplicate voter";
  EXPECT_FALSE(with("0000000000000abc:1\nclaim", "0000000000000abc:1 -\nclaim"))
      << "ends with a free slot";
  EXPECT_FALSE(with("next 99", "next 0"));
  EXPECT_FALSE(with("number 55", "number 0")) << "voters without their number";
  EXPECT_FALSE(with("record 66", "record x"));
  EXPECT_FALSE(with("77 65541", "77")) << "a claim without a boot";
  EXPECT_FALSE(with("claim fedcba9876543210", "claim 0"));
}

}  // namespace
}  // namespace tempo::locks
