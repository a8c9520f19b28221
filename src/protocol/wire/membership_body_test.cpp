#include "protocol/wire/membership_body.h"

#include <string>

#include <gtest/gtest.h>

#include "protocol/wire/body_test_bytes.h"
#include "protocol/wire/datagram.h"

namespace tempo::wire {
namespace {

Datagram sample_membership() {
  Datagram datagram{.header = sample_header()};
  datagram.body = MembershipBody{
      .kind = MembershipBody::Kind::ask,
      .participation = 1,
      .number = 2,
      .answers = 3,
      .self = 4,
      .ballot = {5, 6},
      .promised = {7, 8},
      .accepted_in = {9, 10},
      .since_main_ns = -11,
      .view = {.lineage = 12,
               .number = 13,
               .tie_breaker = 14,
               .timescale_generation = 15,
               .members = {}},
      .next = {.lineage = 16, .number = 17, .tie_breaker = 18, .timescale_generation = 19}};
  auto& body = std::get<MembershipBody>(datagram.body);
  body.view.members.push_back(20);
  body.view.members.push_back(21);
  return datagram;
}

// By hand from the tables of doc/reference/wire.md.
TEST(MembershipBody, EncodesAnAsk) {
  using namespace std::string_literals;
  EXPECT_EQ(written(sample_membership()),
            "\x15\x53"  // 83
            "\0\1\0"
            "\0\0\0\2\0\0\0\3"
            "\0\0\0\0\0\0\0\4"
            "\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6"
            "\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\x08"
            "\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x0a"
            "\0\0\0\0\0\0\0\0"
            "\xff\xff\xff\xff\xff\xff\xff\xf5"
            "\x16\x2d"  // 29 + 16
            "\2\0\0\0\0\0\0\0\x0c\0\0\0\0\0\0\0\x0d\0\0\0\0\0\0\0\x0e\0\0\0\x0f"
            "\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0\x15"
            "\x17\x1d"  // 29
            "\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\x12\0\0\0\x13"s);
  EXPECT_EQ(parse(bytes_of(sample_membership())).value(), sample_membership());
}

TEST(MembershipBody, EncodesABeaconWithoutViews) {
  Datagram datagram{.header = sample_header()};
  datagram.body = MembershipBody{
      .kind = MembershipBody::Kind::beacon, .urgent = true, .number = 1, .main_for = Nanos{258}};
  const std::string text = written(datagram);
  ASSERT_EQ(text.size(), 2 + MembershipBody::kBytes);
  using namespace std::string_literals;
  EXPECT_EQ(text.substr(2, 3), "\1\0\1"s);
  EXPECT_EQ(text.substr(2 + 67), "\0\0\0\0\0\0\1\2\x40\0\0\0\0\0\0\0"s);
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
}

TEST(MembershipBody, RefusesWhatNoMachineSends) {
  const Datagram good = sample_membership();
  const std::size_t view = kFirst + MembershipBody::kBytes + 2;
  EXPECT_EQ(with_byte(good, kFirst, MembershipBody::kKinds), Error::bad_kind);
  EXPECT_EQ(with_byte(good, kFirst + 1, 3), Error::bad_value) << "participation";
  EXPECT_EQ(with_byte(good, kFirst + 18, 0), Error::bad_value) << "an ask of record 0";
  EXPECT_EQ(with_byte(good, kFirst + 19, 0x41), Error::bad_value) << "round above 2^62";
  EXPECT_EQ(with_byte(good, kFirst + 67, 0x80), Error::bad_value) << "negative main_for";
  EXPECT_EQ(with_byte(good, view, 3), Error::bad_section) << "too few members";
  EXPECT_EQ(with_byte(good, view + 8, 0), Error::bad_value) << "lineage 0";
  EXPECT_EQ(with_byte(good, view + 16, 0), Error::bad_value) << "number 0";
  EXPECT_EQ(with_byte(good, view + 36, 0x15), Error::bad_value) << "a member twice";
  EXPECT_EQ(with_byte(good, view + 36, 0), Error::bad_value) << "member 0";
}

// The longest message: two views with all members.
TEST(MembershipBody, FitsIntoADatagram) {
  Datagram datagram = sample_membership();
  auto& body = std::get<MembershipBody>(datagram.body);
  body.view.members.clear();
  while (!body.view.members.full()) body.view.members.push_back(100 + body.view.members.size());
  body.next = body.view;
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
}

TEST(MembershipBody, ViewsComeWithAMembershipOnly) {
  Datagram datagram = sample_membership();
  Bytes bytes = bytes_of(datagram);
  bytes[kHeaderBytes] = std::byte{77};  // the body is a section that this revision does not know
  EXPECT_EQ(error_of(bytes), Error::no_body);
}

}  // namespace
}  // namespace tempo::wire
