#include "protocol/wire/mutex_body.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/wire/body_test_bytes.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/datagram_test_samples.h"

namespace tempo::wire {
namespace {

Datagram sample_mutex() {
  Datagram datagram{.header = sample_header()};
  datagram.body = MutexBody{.kind = 1,
                            .shared = true,
                            .reply = true,
                            .name = LockName("door"),
                            .view = 2,
                            .number = 3,
                            .ahead = 0x0405,
                            .incarnation = 6,
                            .set_id = SetId{7}};
  return datagram;
}

Datagram sample_beat() {
  Datagram datagram{.header = sample_header()};
  BeatBody& body = datagram.body.emplace<BeatBody>();
  body.view = 2;
  body.number = 3;
  body.set_id = SetId{9};
  body.busy = true;
  body.members.push_back({.incarnation = 4, .heard = 5, .age_us = 6, .received = 7, .sent = 8});
  return datagram;
}

// The expected bytes are written by hand from the tables of doc/reference/wire.md.
TEST(MutexBody, EncodesAMessage) {
  using namespace std::string_literals;
  EXPECT_EQ(written(sample_mutex()),
            "\x0e\x27"  // 35 + 4
            "\1\3\4"
            "\0\0\0\2"
            "\0\0\0\0\0\0\0\3"
            "\0\0\0\0\0\0\4\5"
            "\0\0\0\6"
            "\0\0\0\0\0\0\0\7"
            "door"s);
  EXPECT_EQ(parse(bytes_of(sample_mutex())).value(), sample_mutex());
}

TEST(MutexBody, EncodesABeat) {
  using namespace std::string_literals;
  EXPECT_EQ(written(sample_beat()),
            "\x0f\x26"  // 18 + 20
            "\0\0\0\2\0\0\0\3\1\1"
            "\0\0\0\0\0\0\0\x09"
            "\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0\7\0\0\0\x08"s);
  EXPECT_EQ(parse(bytes_of(sample_beat())).value(), sample_beat());
}

TEST(MutexBody, RefusesValuesOutOfRange) {
  EXPECT_EQ(with_byte(sample_mutex(), kFirst, 5), Error::bad_kind);
  EXPECT_EQ(with_byte(sample_mutex(), kFirst + 2, 0), Error::bad_section) << "no name";
  EXPECT_EQ(with_byte(sample_mutex(), kFirst + 2, 5), Error::bad_section) << "name too long";
  EXPECT_EQ(with_byte(sample_mutex(), kFirst + 35, 7), Error::bad_name);
  EXPECT_EQ(with_byte(sample_beat(), kFirst + 7, 0), Error::bad_value) << "beat 0";
  EXPECT_EQ(with_byte(sample_beat(), kFirst + 9, 2), Error::bad_section) << "two members";
  EXPECT_EQ(with_byte(sample_beat(), kFirst + 9, 9), Error::bad_section) << "nine members";
}

TEST(MutexBody, TruncatedAnywhereIsRefused) {
  for (const Datagram& datagram : {sample_mutex(), sample_beat()}) {
    const Bytes whole = bytes_of(datagram);
    for (std::size_t size = kHeaderBytes; size < whole.size(); ++size) {
      Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      bytes[4] = static_cast<std::byte>(size >> 8U);
      bytes[5] = static_cast<std::byte>(size & 255U);
      EXPECT_FALSE(parse(bytes)) << size;
    }
  }
}

}  // namespace
}  // namespace tempo::wire
