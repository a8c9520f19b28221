#include "protocol/wire/group_body.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/wire/body_test_bytes.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/datagram_test_samples.h"

namespace tempo::wire {
namespace {

// Bytes by hand from the tables of doc/reference/wire.md.
TEST(GroupBody, EncodesAHeartbeat) {
  Datagram datagram{.header = sample_header()};
  GroupBody& body = datagram.body.emplace<GroupBody>();
  body.kind = GroupBody::Kind::heartbeat;
  body.name = GroupName("web");
  body.leads = true;
  body.criterion = 2;
  body.algorithm = 1;
  body.term = 0x0102030405060708;
  body.heir = HostId{0x1001};
  body.capacity = -1;
  using namespace std::string_literals;
  EXPECT_EQ(written(datagram),
            "\x0b\x6f"          // 108 + 3
            "\0\3\1\2\1\0\0\0"  // kind, length, flags, criterion, algorithm, step, phase, hops
            "\0\0\0\0\0\0\0\0\0\0\0\0"          // serial, incarnation, number
            "\1\2\3\4\5\6\7\x08"                // term
            "\0\0\0\0\0\0\x10\x01"              // heir
            "\0\0\0\0\0\0\0\0"                  // ago
            "\xff\xff\xff\xff\xff\xff\xff\xff"  // capacity
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  // sender, stamp
            "\0\0\0\0\0\0\0\0"                  // delay
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  // first
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  // second
            "web"s);
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
}

TEST(GroupBody, LongestIsParsedAsWritten) {
  const Bytes bytes = bytes_of(sample_group());
  EXPECT_EQ(bytes.size(), kHeaderBytes + 2 + 108 + 57);
  EXPECT_EQ(parse(bytes).value(), sample_group());
}

TEST(GroupBody, EncodesARingMessage) {
  Datagram datagram{.header = sample_header()};
  GroupBody& body = datagram.body.emplace<GroupBody>();
  body.kind = GroupBody::Kind::ring;
  body.name = GroupName("web");
  body.phase = 7;
  body.incarnation = 0x21222324;
  body.number = 3;
  body.sender = HostId{0x1001};
  body.ring = {.ring = 0x3132333435363738,
               .election = 4,
               .sequence = 5,
               .after = 6,
               .answers = 7,
               .priority = 8};
  using namespace std::string_literals;
  EXPECT_EQ(written(datagram),
            "\x0b\x6f"          // 108 + 3
            "\5\3\0\0\0\0\7\0"  // kind, length, flags, criterion, algorithm, step, phase, hops
            "\0\0\0\0\x21\x22\x23\x24\0\0\0\3"  // serial, incarnation, number
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  // term, heir
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  // ago, capacity
            "\0\0\0\0\0\0\x10\x01"              // sender
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  // stamp, delay
            "\x31\x32\x33\x34\x35\x36\x37\x38"  // ring
            "\0\0\0\4\0\0\0\5\0\0\0\6"          // election, sequence, after
            "\0\0\0\7\0\0\0\x08\0\0\0\0"        // answers, priority, reserved
            "web"s);
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
}

TEST(GroupBody, EncodesSignatures) {
  Datagram datagram{.header = sample_header()};
  GroupBody& body = datagram.body.emplace<GroupBody>();
  body.kind = GroupBody::Kind::b2;
  body.name = GroupName("web");
  body.proof = {.list = 0x3132333435363738, .election = 4, .sender = 5, .size = 6};
  for (const std::uint8_t member : {std::uint8_t{1}, std::uint8_t{5}}) {
    GroupSignature signature{.member = member};
    signature.bytes.fill(std::byte{member});
    body.signatures.push_back(signature);
  }
  using namespace std::string_literals;
  EXPECT_EQ(written(datagram), "\x0b\x6f\7\3"s +
                                   std::string(74, '\0') +  // 108 + 3; kind, length, other fields
                                   "\x31\x32\x33\x34\x35\x36\x37\x38"  // list
                                   "\0\0\0\0\0\0\0\4\0\0\0\5\0\0\0\6"  // election, sender, size
                                   "\0\0\0\0\0\0\0\0web"               // reserved
                                   "\x10\x83\2\1"s +                   // 1 + 2 * 65; count
                                   std::string(64, '\1') +
                                   '\5' + std::string(64, '\5'));
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
  Bytes bytes = bytes_of(datagram);
  const std::size_t count = bytes.size() - 2 * 65 - 1;
  bytes[count] = std::byte{3};
  EXPECT_EQ(error_of(bytes), Error::bad_section) << "one is missing";
  bytes[count] = std::byte{4};
  EXPECT_EQ(error_of(bytes), Error::bad_value) << "too many";
  bytes[count] = std::byte{0};
  EXPECT_EQ(error_of(bytes), Error::bad_value) << "none";
}

TEST(GroupBody, TruncatedAnywhereIsRefused) {
  const Bytes whole = bytes_of(sample_group());
  for (std::size_t size = kHeaderBytes; size < whole.size(); ++size) {
    Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    bytes[4] = static_cast<std::byte>(size >> 8U);
    bytes[5] = static_cast<std::byte>(size & 255U);
    EXPECT_NE(error_of(bytes), Error::count) << size;
  }
}

TEST(GroupBody, RefusesValuesOutOfRange) {
  EXPECT_EQ(with_byte(sample_group(), kFirst, 8), Error::bad_kind);
  EXPECT_EQ(with_byte(sample_group(), kFirst + 1, 58), Error::bad_section) << "name";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 1, 0), Error::bad_section) << "no name";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 5, 3), Error::bad_value) << "step";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 6, 8), Error::bad_value) << "phase";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 36, 0x80), Error::bad_value) << "negative ago";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 60, 0x80), Error::bad_value) << "negative timestamp";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 68, 0x80), Error::bad_value) << "negative delay";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 68, 0x41), Error::bad_value) << "delay too long";
  EXPECT_EQ(with_byte(sample_group(), kFirst + 108, 0x07), Error::bad_name);
}

}  // namespace
}  // namespace tempo::wire
