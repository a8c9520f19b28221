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
  return {.host = HostId{0xabc},
          .kernel = "0b7e-1",
          .stage = LockRecord::Stage::committed,
          .voters = {HostId{0xabc}, HostId{0xfedcba9876543210}},
          .lease = Saved{
              .boot = lock::lease::Boot{7}, .reserve = 65'536, .view = view, .next = next}};
}

TEST(LockRecord, HasThisText) {
  EXPECT_EQ(sample().text(),
            "tempo-locks 1\n"
            "host 0000000000000abc\n"
            "kernel 0b7e-1\n"
            "stage founded\n"
            "voters 0000000000000abc fedcba9876543210\n"
            "boot 7\n"
            "reserve 65536\n"
            "view 3 fedcba9876543210:2 - 0000000000000abc:1\n"
            "next 99 4 0000000000000abc:1\n"
            "end\n");
}

TEST(LockRecord, RoundTrips) {
  const auto read = parse_lock_record(sample().text());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, sample());
  EXPECT_EQ(*read->lease, *sample().lease);
  LockRecord minimal{.host = HostId{1}, .stage = LockRecord::Stage::ready, .voters = {HostId{1}}};
  EXPECT_EQ(parse_lock_record(minimal.text()), minimal);
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
  EXPECT_FALSE(with("locks 1", "locks 2"));
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
  EXPECT_FALSE(with("0000000000000abc:1\nnext", "0000000000000abc:1 -\nnext"))
      << "ends with a free slot";
  EXPECT_FALSE(with("next 99", "next 0"));
}

}  // namespace
}  // namespace tempo::locks
