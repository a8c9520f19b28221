#include "protocol/wire/lock_body.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/wire/body_test_bytes.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/datagram_test_samples.h"

namespace tempo::wire {
namespace {

// Bytes by hand from the tables of doc/reference/wire.md.
TEST(LockBody, EncodesALock) {
  Datagram datagram{.header = sample_header()};
  LockBody& body = datagram.body.emplace<LockBody>();
  body.kind = 0;
  body.held = true;
  body.name = LockName("door");
  body.view = 1;
  body.boot = 2;
  body.k = 3;
  body.named = 6;
  body.ballot = {9, HostId{0x1001}};
  body.length = Nanos{2'000'000'000};
  body.set_id = SetId{10};
  body.record = RecordId{11};
  body.waiting.push_back({77, true});
  body.ends.push_back({8, HostId{0x1002}});
  using namespace std::string_literals;
  EXPECT_EQ(written(datagram),
            "\x07\x7b"                              // 94 + 9 + 16 + 4
            "\0\0\2\1\1\4"                          // kind, why, flags, lengths
            "\0\0\0\1\0\0\0\2\0\0\0\3"              // view, boot, k
            "\0\0\0\0\0\0\0\0\0\0\0\6"              // to_boot, to_k, named
            "\0\0\0\0\0\0\0\x09"                    // count
            "\0\0\0\0\0\0\x10\x01"                  // origin
            "\0\0\0\0\0\0\0\0"                      // top
            "\0\0\0\0\x77\x35\x94\0"                // length
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"      // nonce, reserve
            "\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\x0b"  // set, record
            "\0\0\0\0\0\0\0\x4d\1"                  // waits: 77, shared
            "\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\x10\x02"
            "door"s);
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
}

TEST(LockBody, EncodesAVoterSet) {
  Datagram datagram{.header = sample_header()};
  auto& body = datagram.body.emplace<VoterSetBody>();
  body.stage = VoterSetBody::Stage::ready;
  body.number = 9;
  body.voters.push_back(HostId{5});
  body.voters.push_back(HostId{0x0102030405060708});
  using namespace std::string_literals;
  EXPECT_EQ(written(datagram),
            "\x0a\x1a\1\2"
            "\0\0\0\0\0\0\0\x09"
            "\0\0\0\0\0\0\0\5"
            "\1\2\3\4\5\6\7\x08"s);
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
}

Datagram sample_voters() {
  Datagram datagram{.header = sample_header()};
  LockBody& body = datagram.body.emplace<LockBody>();
  body.kind = 6;
  body.set.number = 3;
  body.set.slots.push_back({HostId{0x1001}, 2});
  body.set.slots.push_back({});
  body.set.slots.push_back({HostId{0x1002}, 1});
  body.next.count = 0x0102;
  body.next.number = 4;
  body.next.slots.push_back({HostId{0x1001}, 1});
  return datagram;
}

TEST(LockBody, EncodesVoters) {
  using namespace std::string_literals;
  EXPECT_EQ(written(sample_voters()).substr(2 + 94),
            "\x0c\x28"                  // 13 + 3 * 9
            "\0\0\0\0\0\0\0\0"          // in force
            "\0\0\0\3\3"                // view 3, three slots
            "\0\0\0\0\0\0\x10\x01\x02"  // two votes
            "\0\0\0\0\0\0\0\0\0"        // free slot
            "\0\0\0\0\0\0\x10\x02\x01"
            "\x0d\x16"  // 13 + 9
            "\0\0\0\0\0\0\1\2"
            "\0\0\0\4\1"
            "\0\0\0\0\0\0\x10\x01\x01"s);
  EXPECT_EQ(parse(bytes_of(sample_voters())).value(), sample_voters());
}

TEST(LockBody, EncodesClaims) {
  Datagram datagram{.header = sample_header()};
  LockBody& body = datagram.body.emplace<LockBody>();
  body.kind = 1;
  body.claims.push_back({HostId{0x1001}, RecordId{0x0203}, 4});
  body.claims.push_back({HostId{0x1002}, RecordId{0x0506}, 7});
  using namespace std::string_literals;
  EXPECT_EQ(written(datagram).substr(2 + 94),
            "\x13\x29\2"  // 1 + 2 * 20
            "\0\0\0\0\0\0\x10\x01\0\0\0\0\0\0\2\3\0\0\0\4"
            "\0\0\0\0\0\0\x10\x02\0\0\0\0\0\0\5\6\0\0\0\7"s);
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
  const std::size_t claims = kFirst + 94 + 2;
  EXPECT_EQ(with_byte(datagram, claims, 3), Error::bad_section) << "a claim is missing";
  EXPECT_EQ(with_byte(datagram, claims, 9), Error::bad_section) << "too many";
  Bytes of_no_host = bytes_of(datagram);
  std::fill_n(of_no_host.begin() + static_cast<std::ptrdiff_t>(claims + 1), 8, std::byte{0});
  EXPECT_EQ(error_of(of_no_host), Error::bad_value);
}

TEST(LockBody, EncodesClientsInside) {
  Datagram datagram{.header = sample_header()};
  LockBody& body = datagram.body.emplace<LockBody>();
  body.kind = 9;
  body.held = body.resumed = body.confirmed = body.no_wait = true;
  body.inside.sub = 3;
  body.inside.clients.push_back({.sub = 2, .session = 0x0405, .process = 0x0607});
  using namespace std::string_literals;
  EXPECT_EQ(written(datagram).substr(2, 3), "\x09\0\x1e"s) << "kind, why, flags";
  EXPECT_EQ(written(datagram).substr(2 + 94),
            "\x14\x19"    // 5 + 20
            "\1\0\0\0\3"  // one client, sub 3
            "\0\0\0\2\0\0\0\0\0\0\4\5\0\0\0\0\0\0\6\7"s);
  EXPECT_EQ(parse(bytes_of(datagram)).value(), datagram);
  const std::size_t inside = kFirst + 94 + 2;
  EXPECT_EQ(with_byte(datagram, inside, 2), Error::bad_section) << "a client is missing";
  EXPECT_EQ(with_byte(datagram, inside, 9), Error::bad_section) << "too many";
  EXPECT_EQ(with_byte(datagram, inside + 4, 0), Error::bad_value) << "sub 0";
}

TEST(LockBody, RefusesInvalidVoters) {
  const std::size_t set = kFirst + 94 + 2;
  EXPECT_EQ(with_byte(sample_voters(), set + 11, 0), Error::bad_value) << "view 0";
  EXPECT_EQ(with_byte(sample_voters(), set + 12, 9), Error::bad_section) << "nine slots";
  EXPECT_EQ(with_byte(sample_voters(), set + 12, 0), Error::bad_value) << "no voters";
  EXPECT_EQ(with_byte(sample_voters(), set + 12, 2), Error::bad_value) << "the last slot is free";
  EXPECT_EQ(with_byte(sample_voters(), set + 13 + 8, 0), Error::bad_value)
      << "a voter without votes";
  EXPECT_EQ(with_byte(sample_voters(), set + 13 + 9 + 8, 1), Error::bad_value)
      << "votes of a free slot";
  EXPECT_EQ(with_byte(sample_voters(), set + 13 + 18 + 7, 1), Error::bad_value) << "a host twice";
}

TEST(LockBody, LongestIsParsedAsWritten) {
  Datagram datagram = sample_lock();
  datagram.name = Name(std::string(kMaxName, 'x'));
  datagram.view = 1;
  const Bytes bytes = bytes_of(datagram);
  // header, name, view, lock, pass, six standings
  EXPECT_EQ(bytes.size(), kHeaderBytes + (2 + 63) + (2 + 8) + (2 + 242) + (2 + 28) + 6 * (2 + 53));
  EXPECT_LE(bytes.size() + kTagBytes, kMaxBytes);
  EXPECT_EQ(parse(bytes).value(), datagram);
}

TEST(LockBody, TruncatedAnywhereIsRefused) {
  const Bytes whole = bytes_of(sample_lock());
  for (std::size_t size = kHeaderBytes; size < whole.size(); ++size) {
    Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    bytes[4] = static_cast<std::byte>(size >> 8U);
    bytes[5] = static_cast<std::byte>(size & 255U);
    // Truncated between two sections it is a valid shorter datagram.
    const bool between = size == kHeaderBytes + 244 ||
                         (size >= kHeaderBytes + 274 && (size - kHeaderBytes - 274) % 55 == 0);
    EXPECT_EQ(error_of(bytes) == Error::count, between) << size;
  }
}

TEST(LockBody, RefusesListsLongerThanTheSection) {
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 3, 5), Error::bad_section) << "waiters";
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 4, 4), Error::bad_section) << "ends";
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 5, 65), Error::bad_section) << "name";
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 5, 63), Error::count)
      << "the parser skips trailing bytes";
}

TEST(LockBody, RefusesValuesOutOfRange) {
  EXPECT_EQ(with_byte(sample_lock(), kFirst, 10), Error::bad_kind);
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 1, 6), Error::bad_value) << "why";
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 54, 0x80), Error::bad_value) << "negative length";
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 54, 0x41), Error::bad_value) << "length too long";
  EXPECT_EQ(with_byte(sample_lock(), kFirst + 241, 0x07), Error::bad_name);
  const std::size_t pass = kFirst + 242 + 2;
  EXPECT_EQ(with_byte(sample_lock(), pass + 12, 0x80), Error::bad_value)
      << "negative remaining time";
}

TEST(LockBody, RefusesAPassWithoutItsLock) {
  const Bytes whole = bytes_of(sample_lock());
  const auto without = [&](std::size_t from, std::size_t count) {
    Bytes bytes = whole;
    bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                bytes.begin() + static_cast<std::ptrdiff_t>(from + count));
    bytes[4] = static_cast<std::byte>(bytes.size() >> 8U);
    bytes[5] = static_cast<std::byte>(bytes.size() & 255U);
    return error_of(bytes);
  };
  EXPECT_EQ(without(kHeaderBytes, 2 + 242), Error::no_body) << "pass without a lock";
  EXPECT_EQ(without(kFirst + 242, 2 + 28), Error::no_body) << "standings without a pass";
}

TEST(LockBody, RefusesASeventhStanding) {
  Bytes bytes = bytes_of(sample_lock());
  const Bytes last(bytes.end() - 55, bytes.end());
  bytes.insert(bytes.end(), last.begin(), last.end());
  bytes[4] = static_cast<std::byte>(bytes.size() >> 8U);
  bytes[5] = static_cast<std::byte>(bytes.size() & 255U);
  EXPECT_EQ(error_of(bytes), Error::two_bodies);
}

TEST(LockBody, RefusesAVoterSetOutOfOrder) {
  Datagram datagram{.header = sample_header()};
  auto& body = datagram.body.emplace<VoterSetBody>();
  body.voters.push_back(HostId{5});
  body.voters.push_back(HostId{6});
  EXPECT_EQ(with_byte(datagram, kFirst + 25, 5), Error::bad_value) << "the same voter twice";
  EXPECT_EQ(with_byte(datagram, kFirst + 25, 4), Error::bad_value);
  EXPECT_EQ(with_byte(datagram, kFirst, 3), Error::bad_kind) << "stage";
  EXPECT_EQ(with_byte(datagram, kFirst + 1, 3), Error::bad_section) << "count too large";
}

}  // namespace
}  // namespace tempo::wire
