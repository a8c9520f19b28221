#include "protocol/wire/datagram.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/hex.h"
#include "protocol/wire/body_test_bytes.h"
#include "protocol/wire/datagram_test_samples.h"

namespace tempo::wire {
namespace {

void state_length(Bytes& bytes, std::size_t length) {
  bytes[4] = static_cast<std::byte>(length >> 8U);
  bytes[5] = static_cast<std::byte>(length & 255U);
}

Bytes with_section(Bytes bytes, std::uint8_t tag, std::size_t length, std::uint8_t fill = 0x61) {
  bytes.push_back(std::byte{tag});
  bytes.push_back(static_cast<std::byte>(length));
  bytes.insert(bytes.end(), length, std::byte{fill});
  state_length(bytes, bytes.size());
  return bytes;
}

Bytes header_alone() {
  Bytes bytes = bytes_of(sample_sync());
  bytes.resize(kHeaderBytes);
  state_length(bytes, bytes.size());
  return bytes;
}

TEST(Datagram, EncodesAnElection) {
  EXPECT_EQ(hex(bytes_of(sample_election())),
            "54020200"
            "00a9"
            "0000"
            "0102030405060708"
            "1112131415161718"
            "21222324"
            "00000000"
            "3132333435363738"
            "4142434445464748"
            "5152535455565758"
            "6162636465666768"
            "01056561727468"
            "02085152535455565758"
            "033c0d010700"
            "6162636465666768"
            "7172737475767778"
            "8182838485868788"
            "9192939495969798"
            "a1a2a3a4"
            "b1b2b3b4b5b6b7b8"
            "c1c2c3c4"
            "0102030405060708"
            "0418"
            "01020000"
            "21222324"
            "3132333435363738"
            "1112131415161718");
}

TEST(Datagram, EncodesASync) {
  EXPECT_EQ(hex(bytes_of(sample_sync())).substr(2 * kHeaderBytes),
            "053c"
            "03030000"
            "51525354"
            "61626364"
            "0102030405060708"
            "fffffffffffffffe"
            "1112131415161718"
            "fffffffffffffffd"
            "2122232425262728"
            "3132333435363738");
}

// Bytes by hand from the tables of doc/reference/wire.md.
TEST(Datagram, EncodesADiagnostic) {
  const Datagram datagram{.header = {.cluster = ClusterId{0x1122334455667788},
                                     .sender = HostId{0x1001},
                                     .incarnation = Incarnation{7},
                                     .number = 3,
                                     .nonce = Nonce{4},
                                     .challenge = 5,
                                     .response = 6},
                          .body = DiagnosticBody{.kind = DiagnosticBody::Kind::answer,
                                                 .level = 2,
                                                 .parts = 1,
                                                 .question = 9,
                                                 .text = Text<DiagnosticBody::kMaxText>("fire")}};
  const std::vector<int> written{
      0x54, 2,  2, 0, 0, 78, 0,    0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,  // header
      0,    0,  0, 0, 0, 0,  0x10, 1, 0,    0,    0,    7,    0,    0,    0,    0,     //
      0,    0,  0, 0, 0, 0,  0,    3, 0,    0,    0,    0,    0,    0,    0,    4,     //
      0,    0,  0, 0, 0, 0,  0,    5, 0,    0,    0,    0,    0,    0,    0,    6,     //
      6,    12, 1, 2, 0, 1,  0,    0, 0,    9,    'f',  'i',  'r',  'e'};              // diagnostic
  std::vector<int> bytes;
  for (const std::byte byte : bytes_of(datagram)) bytes.push_back(std::to_integer<int>(byte));
  EXPECT_EQ(bytes, written);
  EXPECT_EQ(parse(bytes_of(datagram)), datagram);
}

// By hand from the tables of doc/reference/wire.md.
TEST(Datagram, EncodesAReelect) {
  Datagram datagram{.header = {.sender = HostId{0x1001}},
                    .body = DiagnosticBody{.kind = DiagnosticBody::Kind::reelect,
                                           .question = 9,
                                           .target = HostId{0x2122232425262728},
                                           .round = 0x31}};
  EXPECT_EQ(hex(bytes_of(datagram)).substr(2 * kHeaderBytes),
            "0618"
            "02000000"
            "00000009"
            "2122232425262728"
            "0000000000000031");
  EXPECT_EQ(parse(bytes_of(datagram)), datagram);
  datagram.body = DiagnosticBody{.kind = DiagnosticBody::Kind::reelect_answer,
                                 .level = DiagnosticBody::kRefused,
                                 .question = 9,
                                 .text = Text<DiagnosticBody::kMaxText>("no")};
  EXPECT_EQ(hex(bytes_of(datagram)).substr(2 * kHeaderBytes),
            "060a"
            "03020000"
            "00000009"
            "6e6f");
  EXPECT_EQ(parse(bytes_of(datagram)), datagram);
}

// By hand from the tables of doc/reference/wire.md. The shortest code
// for a bound of 1024 ns is 10240: 2^(10239/1024) is 1023.3, which is rounded up.
TEST(Datagram, EncodesAnAnnouncement) {
  const Datagram datagram = sample_announcement();
  const std::string text = hex(bytes_of(datagram));
  const std::string texts =
      std::string(16, 'p') + std::string(16, 's') + std::string(32, 'v') + std::string(63, 'n');
  EXPECT_EQ(text.substr(2 * kHeaderBytes, 2 * (7 + 2 + AnnouncementBody::kFixedBytes)),
            "01056561727468"
            "12b3"
            "05032800"
            "1010203f"
            "01020304"
            "05060708"
            "090a0b0c"
            "0d0e0f10"
            "11121314"
            "15161718"
            "fffffffffffffffe"
            "191a1b1c1d1e1f20"
            "21222324");
  EXPECT_EQ(text.substr(2 * (kHeaderBytes + 7 + 2 + AnnouncementBody::kFixedBytes)),
            hex(std::as_bytes(std::span(texts))));
  EXPECT_EQ(parse(bytes_of(datagram)), datagram);
}

TEST(Datagram, RefusesABadAnnouncement) {
  const Datagram datagram = sample_announcement();
  const std::size_t first = kHeaderBytes + 7 + 2;
  EXPECT_EQ(error_of(changed(datagram, first + 4, 17)), Error::bad_name) << "profile";
  EXPECT_EQ(error_of(changed(datagram, first + 7, 64)), Error::bad_section) << "mentioned name";
  EXPECT_EQ(error_of(changed(datagram, first + 32, 0x7f)), Error::bad_value) << "offset";
  EXPECT_EQ(error_of(changed(datagram, first + 60, 0x07)), Error::bad_name) << "not printable";
}

// By hand from the tables of doc/reference/wire.md.
TEST(Datagram, EncodesAHello) {
  Datagram datagram{.header = {.sender = HostId{0x1001}},
                    .body = HelloBody{.kind = HelloBody::Kind::answer, .to = Nonce{7}}};
  EXPECT_EQ(hex(bytes_of(datagram)).substr(2 * kHeaderBytes),
            "110901"
            "0000000000000007");
  EXPECT_EQ(parse(bytes_of(datagram)), datagram);
  EXPECT_EQ(error_of(changed(datagram, kHeaderBytes + 2, HelloBody::kKinds)), Error::bad_kind);
}

// A daemon that does not know a kind drops the datagram and counts it as bad_kind.
TEST(Datagram, RefusesUnknownKindsOfDiagnostics) {
  const Datagram datagram{.header = {.sender = HostId{1}},
                          .body = DiagnosticBody{.kind = DiagnosticBody::Kind::reelect}};
  std::vector<std::byte> bytes = bytes_of(datagram);
  bytes.at(kHeaderBytes + 2) = std::byte{DiagnosticBody::kKinds};
  EXPECT_EQ(parse(bytes), std::unexpected(Error::bad_kind));
}

TEST(Datagram, RefusesAShortReelect) {
  const Datagram datagram{.header = {.sender = HostId{1}},
                          .body = DiagnosticBody{.kind = DiagnosticBody::Kind::reelect}};
  std::vector<std::byte> bytes = bytes_of(datagram);
  bytes.pop_back();
  bytes.at(5) = static_cast<std::byte>(bytes.size());  // stated length of the datagram...
  bytes.at(kHeaderBytes + 1) = std::byte{23};          // ...and of the section
  EXPECT_EQ(parse(bytes), std::unexpected(Error::bad_section));
}

TEST(Datagram, IsParsedAsWritten) {
  Datagram small_view = sample_sync();
  small_view.view = 1;
  for (const Datagram& datagram : {sample_election(), sample_sync(), small_view}) {
    const auto read = parse(bytes_of(datagram));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, datagram);
  }
}

TEST(Datagram, EveryFlagHasItsOwnBit) {
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      Datagram election = sample_election();
      auto& body = std::get<ElectionBody>(election.body);
      body.not_set = first;
      body.was_master = second;
      EXPECT_EQ(parse(bytes_of(election)).value(), election);
      Datagram sync = sample_sync();
      auto& stamps = std::get<SyncBody>(sync.body);
      stamps.kernel_stamp = first;
      stamps.will_follow = second;
      stamps.objects = first && !second;
      EXPECT_EQ(parse(bytes_of(sync)).value(), sync);
    }
  }
}

// A bound in two bytes: never smaller, and less than a thousandth larger.
TEST(Datagram, RoundsTheBoundOfUtcUp) {
  for (const std::uint64_t bound : {1ULL, 2ULL, 3ULL, 1000ULL, 1'500'001ULL, 16'000'000'000ULL}) {
    Datagram probe{.header = {.sender = HostId{7}}, .body = SyncBody{.utc_bound_ns = bound}};
    std::array<std::byte, kMaxBytes> bytes{};
    const auto read = parse(std::span(bytes).first(write(probe, bytes)));
    ASSERT_TRUE(read);
    EXPECT_GE(std::get<SyncBody>(read->body).utc_bound_ns, bound);
    EXPECT_LE(static_cast<double>(std::get<SyncBody>(read->body).utc_bound_ns),
              static_cast<double>(bound) * 1.001 + 1);
  }
}

TEST(Datagram, RoundsTheBoundOfUtcOnce) {
  const auto round_trip = [](std::uint64_t bound) {
    Datagram probe{.header = {.sender = HostId{7}}, .body = SyncBody{.utc_bound_ns = bound}};
    std::array<std::byte, kMaxBytes> bytes{};
    const auto read = parse(std::span(bytes).first(write(probe, bytes)));
    return read ? std::get<SyncBody>(read->body).utc_bound_ns : 0;
  };
  for (std::uint64_t bound = 1; bound < 1'000'000'000'000; bound += 1 + bound / 777) {
    const std::uint64_t once = round_trip(bound);
    ASSERT_EQ(round_trip(once), once) << bound;
  }
}

TEST(Datagram, WithAKeyIncludesTheAuthenticatorInItsLength) {
  Datagram datagram = sample_sync();
  datagram.header.key = KeyId{9};
  Bytes bytes = bytes_of(datagram);
  EXPECT_EQ(std::to_integer<std::size_t>(bytes[5]), bytes.size() + kTagBytes);
  EXPECT_EQ(parse(bytes).value(), datagram);

  EXPECT_EQ(parse_header(bytes).error(), Error::wrong_length) << "the authenticator is missing";
  bytes.resize(bytes.size() + kTagBytes);
  EXPECT_EQ(parse_header(bytes).value(), datagram.header);
  EXPECT_EQ(error_of(bytes), Error::wrong_length) << "the authenticator is not a section";
}

TEST(Datagram, ParsesAHeaderWithoutAKey) {
  const Datagram datagram = sample_election();
  EXPECT_EQ(parse_header(bytes_of(datagram)).value(), datagram.header);
}

TEST(Datagram, TruncatedAnywhereIsRefused) {
  const Bytes whole = bytes_of(sample_election());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(error_of(cut), size < kHeaderBytes ? Error::too_short : Error::wrong_length) << size;
    EXPECT_FALSE(parse_header(cut).has_value()) << size;
  }
}

TEST(Datagram, WithATruncatedSectionIsRefused) {
  Bytes bytes = bytes_of(sample_sync());
  bytes.pop_back();
  state_length(bytes, bytes.size());
  EXPECT_EQ(error_of(bytes), Error::bad_section);

  Bytes tag_alone = header_alone();
  tag_alone.push_back(std::byte{5});
  state_length(tag_alone, tag_alone.size());
  EXPECT_EQ(error_of(tag_alone), Error::bad_section);
}

TEST(Datagram, OfAnotherVersionIsRefusedAtAnyLength) {
  EXPECT_EQ(error_of(changed(sample_sync(), 0, 'U')), Error::wrong_version);
  EXPECT_EQ(error_of(changed(sample_sync(), 1, 1)), Error::wrong_version);
  EXPECT_EQ(error_of(changed(sample_sync(), 1, 3)), Error::wrong_version);
  EXPECT_EQ(error_of(Bytes(13, std::byte{1})), Error::wrong_version) << "TSP";
}

TEST(Datagram, OfANeighbouringRevisionIsAccepted) {
  for (const int revision : {int{kRevision}, kRevision + 1})
    EXPECT_EQ(error_of(changed(sample_sync(), 2, static_cast<std::uint8_t>(revision))),
              Error::count)
        << revision;
  EXPECT_EQ(error_of(changed(sample_sync(), 2, 1)), Error::wrong_revision) << "another header";
  EXPECT_EQ(error_of(changed(sample_sync(), 2, kRevision + 2)), Error::wrong_revision);
  EXPECT_EQ(error_of(changed(sample_sync(), 2, 255)), Error::wrong_revision);
}

TEST(Datagram, IgnoresReservedBytes) {
  Datagram datagram = sample_sync();
  auto& body = std::get<SyncBody>(datagram.body);
  body.kernel_stamp = false;
  body.will_follow = false;
  body.objects = false;
  Bytes bytes = bytes_of(datagram);
  for (const std::size_t at : {std::size_t{3}, kFirst + 2, kFirst + 3}) bytes[at] = std::byte{0xff};
  bytes[kFirst + 1] |= std::byte{0xf8};
  EXPECT_EQ(parse(bytes).value(), datagram);
}

TEST(Datagram, NamesTheOtherKeyThatItsSenderOpens) {
  EXPECT_EQ(short_key(KeyId{0xd9d0f181}), ShortKey{0xd9d0});
  EXPECT_EQ(short_key(KeyId{0x00017777}), ShortKey{2}) << "0 and 1 have other meanings";
  EXPECT_EQ(short_key(kNoKey), kOpensUnsealed);
  Datagram datagram = sample_sync();
  datagram.header.other_key = ShortKey{0xd9d0};
  const Bytes bytes = bytes_of(datagram);
  EXPECT_EQ(bytes[6], std::byte{0xd9});
  EXPECT_EQ(bytes[7], std::byte{0xd0});
  EXPECT_EQ(parse(bytes).value(), datagram);
}

TEST(Datagram, TooLongIsRefused) {
  Bytes bytes = bytes_of(sample_sync());
  while (kMaxBytes - bytes.size() > 2 + 255) bytes = with_section(std::move(bytes), 200, 200);
  bytes = with_section(std::move(bytes), 200, kMaxBytes - bytes.size() - 2);
  ASSERT_EQ(bytes.size(), kMaxBytes);
  EXPECT_EQ(error_of(bytes), Error::count);
  bytes[31] = std::byte{1};  // a key: the authenticator no longer fits
  EXPECT_EQ(error_of(bytes), Error::too_long);
  bytes[31] = std::byte{0};
  bytes.push_back(std::byte{0});
  EXPECT_EQ(error_of(bytes), Error::too_long);
  EXPECT_EQ(parse_header(bytes).error(), Error::too_long);
}

TEST(Datagram, ElectionHasAtMost243Bytes) {
  Datagram datagram = sample_election();
  datagram.name = Name(std::string(kMaxName, 'x'));
  EXPECT_EQ(bytes_of(datagram).size() + kTagBytes, 243);
}

TEST(Datagram, WithoutASenderIsRefused) {
  Bytes bytes = bytes_of(sample_sync());
  std::fill_n(bytes.begin() + 16, 8, std::byte{0});
  EXPECT_EQ(error_of(bytes), Error::no_sender);
}

TEST(Datagram, SkipsSectionsOfLaterRevisions) {
  for (const std::uint8_t tag : std::array<std::uint8_t, 4>{0, 24, 77, 255})
    EXPECT_EQ(
        parse(with_section(with_section(bytes_of(sample_election()), tag, 9), tag, 0)).value(),
        sample_election())
        << +tag;
}

TEST(Datagram, SkipsTrailingBytesOfLaterRevisions) {
  Bytes bytes = bytes_of(sample_sync());
  bytes[kHeaderBytes + 1] = std::byte{64};
  bytes.insert(bytes.end(), 4, std::byte{0xee});
  state_length(bytes, bytes.size());
  EXPECT_EQ(parse(bytes).value(), sample_sync());
}

TEST(Datagram, RefusesTwoSectionsOfAKind) {
  const Bytes election = bytes_of(sample_election());
  EXPECT_EQ(error_of(with_section(election, 1, 3)), Error::two_bodies);
  EXPECT_EQ(error_of(with_section(election, 2, 8)), Error::two_bodies);
  EXPECT_EQ(error_of(with_section(election, 3, 60, 0)), Error::two_bodies);
  EXPECT_EQ(error_of(with_section(election, 4, 24, 0)), Error::two_bodies);
  EXPECT_EQ(error_of(with_section(election, 5, 60, 0)), Error::two_bodies) << "both";
  EXPECT_EQ(error_of(with_section(election, 6, 8, 0)), Error::two_bodies) << "both";
  EXPECT_EQ(error_of(with_section(bytes_of(sample_sync()), 5, 60, 0)), Error::two_bodies);
}

TEST(Datagram, RefusesADatagramWithoutBody) {
  EXPECT_EQ(error_of(header_alone()), Error::no_body);
  EXPECT_EQ(error_of(with_section(header_alone(), 4, 24, 0)), Error::no_body);
}

TEST(Datagram, RefusesASectionShorterThanItsFields) {
  for (const auto& [tag, bytes] :
       {std::pair<std::uint8_t, std::size_t>{2, 8}, {3, 60}, {4, 24}, {5, 60}}) {
    EXPECT_EQ(error_of(with_section(header_alone(), tag, bytes - 1, 0)), Error::bad_section);
    EXPECT_EQ(error_of(with_section(header_alone(), tag, 0)), Error::bad_section);
    EXPECT_NE(error_of(with_section(header_alone(), tag, bytes, 0)), Error::bad_section);
  }
}

TEST(Datagram, RefusesUnknownKinds) {
  Datagram datagram = sample_election();
  datagram.name = {};
  datagram.view = 0;
  EXPECT_EQ(error_of(changed(datagram, kFirst, 15)), Error::count);
  EXPECT_EQ(error_of(changed(datagram, kFirst, 16)), Error::bad_kind);
  EXPECT_EQ(error_of(changed(sample_sync(), kFirst, 3)), Error::count);
  EXPECT_EQ(error_of(changed(sample_sync(), kFirst, 4)), Error::bad_kind);
}

TEST(Datagram, RefusesNamesThatAreNotPrintable) {
  const Bytes sync = bytes_of(sample_sync());
  EXPECT_EQ(parse(with_section(sync, 1, kMaxName)).value().name.text(), std::string(kMaxName, 'a'));
  EXPECT_EQ(error_of(with_section(sync, 1, kMaxName + 1)), Error::bad_name);
  EXPECT_EQ(parse(with_section(sync, 1, 0)).value().name.text(), "");
  for (const int byte : {0x00, 0x0a, 0x1b, 0x1f, 0x7f, 0x80, 0xff})
    EXPECT_EQ(error_of(with_section(sync, 1, 1, static_cast<std::uint8_t>(byte))), Error::bad_name)
        << byte;
  for (const char byte : {' ', '~'})
    EXPECT_EQ(error_of(with_section(sync, 1, 1, static_cast<std::uint8_t>(byte))), Error::count);
}

TEST(Datagram, RefusesTimesWhoseSumsWouldOverflow) {
  const auto refuses = [](Datagram datagram, std::size_t at) {
    datagram.name = {};
    datagram.view = 0;
    Bytes bytes = bytes_of(datagram);
    const auto is = [&](std::uint8_t high, std::uint8_t low) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 8, std::byte{0});
      bytes.at(at) = std::byte{high};
      bytes.at(at + 7) = std::byte{low};
      return error_of(bytes);
    };
    EXPECT_EQ(is(0x40, 0), Error::count) << at;
    EXPECT_EQ(is(0x40, 1), Error::bad_value) << at;
    return is(0xc0, 0);  // -2^62
  };
  EXPECT_EQ(refuses(sample_election(), kFirst + 52), Error::bad_value) << "age";
  EXPECT_EQ(refuses(sample_election(), kFirst + 60 + 2 + 16), Error::bad_value) << "bound";
  EXPECT_EQ(refuses(sample_sync(), kFirst + 12), Error::count) << "received";
  EXPECT_EQ(refuses(sample_sync(), kFirst + 20), Error::count) << "sent";
  EXPECT_EQ(refuses(sample_sync(), kFirst + 28), Error::count) << "offset";
  EXPECT_EQ(refuses(sample_sync(), kFirst + 44), Error::bad_value) << "sigma";
  EXPECT_EQ(refuses(sample_sync(), kFirst + 52), Error::bad_value) << "bound";
  EXPECT_EQ(error_of(changed(sample_sync(), kFirst + 36, 0x80)), Error::bad_value) << "rate";
  EXPECT_EQ(error_of(changed(sample_sync(), kFirst + 38, 0)), Error::bad_value) << "rate";
}

TEST(Datagram, ClampsValuesToTheirRanges) {
  Datagram datagram = sample_sync();
  auto& body = std::get<SyncBody>(datagram.body);
  body.received_ns = std::numeric_limits<std::int64_t>::max();
  body.sent_ns = std::numeric_limits<std::int64_t>::min();
  body.offset_ns = std::numeric_limits<std::int64_t>::min();
  body.rate_ppt = std::numeric_limits<std::int64_t>::min();
  body.sigma_ns = std::numeric_limits<std::uint64_t>::max();
  body.bound_ns = std::numeric_limits<std::uint64_t>::max();
  const SyncBody read = std::get<SyncBody>(parse(bytes_of(datagram)).value().body);
  EXPECT_EQ(read.received_ns, kMaxNanos);
  EXPECT_EQ(read.sent_ns, -kMaxNanos);
  EXPECT_EQ(read.offset_ns, -kMaxNanos);
  EXPECT_EQ(read.rate_ppt, -kMaxRate);
  EXPECT_EQ(read.sigma_ns, kMaxNanos);
  EXPECT_EQ(read.bound_ns, kMaxNanos);
}

TEST(DatagramDeathTest, RefusesToWriteInvalidDatagrams) {
  Datagram anonymous = sample_sync();
  anonymous.header.sender = kNoHost;
  EXPECT_DEATH((void)bytes_of(anonymous), "sender != kNoHost");
  Datagram negative = sample_election();
  std::get<ElectionBody>(negative.body).age = Nanos{-1};
  EXPECT_DEATH((void)bytes_of(negative), "span >= ");
}

TEST(Datagram, ErrorsHaveUniqueNames) {
  std::set<std::string_view> names;
  for (std::uint8_t i = 0; i < std::to_underlying(Error::count); ++i)
    names.insert(name_of(Error{i}));
  EXPECT_EQ(names.size(), std::to_underlying(Error::count));
  EXPECT_EQ(name_of(Error::too_short), "too_short");
  EXPECT_EQ(name_of(Error::bad_section), "bad_section");
  EXPECT_EQ(name_of(Error::bad_value), "bad_value");
}

}  // namespace
}  // namespace tempo::wire
