// The membership record as text.
#include "protocol/membership/membership_record.h"

#include <string>

#include <gtest/gtest.h>

namespace tempo::membership {
namespace {

SavedRecord some_record() {
  SavedRecord saved{.host = HostId{0xabc}, .place = "b7 -", .record = {.self = MemberId{7}}};
  saved.record.view = {.lineage = 0x1f, .number = 3, .tie_breaker = MemberId{7}};
  for (const std::uint64_t member : {5ULL, 7ULL, 0xffffffffffffffffULL})
    insert(saved.record.view.members, MemberId{member});
  saved.record.promised = {.round = 12, .master = MemberId{5}};
  saved.record.accepted_in = {.round = 11, .master = MemberId{7}};
  saved.record.accepted = saved.record.view;
  saved.record.accepted.number = 4;
  saved.record.accepted.timescale_generation = 2;
  return saved;
}

TEST(MembershipRecord, IsASmallText) {
  EXPECT_EQ(text_of(some_record()),
            "tempo-membership 1\nhost abc\nplace b7 -\nself 7\nview 1f 3 7 0 5 7 ffffffffffffffff\n"
            "promised c 5\naccepted-in b 7\naccepted 1f 4 7 2 5 7 ffffffffffffffff\n");
}

TEST(MembershipRecord, IsReadAsItWasWritten) {
  const SavedRecord blank{.host = HostId{1}, .record = {.self = MemberId{9}}};
  for (const SavedRecord& saved : {some_record(), blank}) {
    const auto read = parse_record(text_of(saved));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, saved);
  }
}

// Every prefix, and every text with one other byte that is still accepted, is a possible record.
TEST(MembershipRecord, IsLostWhenItIsDamaged) {
  const std::string text = text_of(some_record());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse_record(text.substr(0, size)).has_value()) << size;
  EXPECT_FALSE(parse_record(text + "more\n").has_value());
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char other : {'\0', '\n', ' ', 'g', '-'}) {
      std::string damaged = text;
      if (damaged[at] == other) continue;
      damaged[at] = other;
      const auto read = parse_record(damaged);
      EXPECT_TRUE(!read || text_of(*read) == damaged) << damaged;
    }
  std::string twice = text;
  twice.replace(twice.find(" 5 7 f"), 6, " 7 7 f");  // members ascend
  EXPECT_FALSE(parse_record(twice).has_value());
  std::string ahead = text;
  ahead.replace(ahead.find("accepted-in b"), 13, "accepted-in d");  // above the promise
  EXPECT_FALSE(parse_record(ahead).has_value());
}

}  // namespace
}  // namespace tempo::membership
