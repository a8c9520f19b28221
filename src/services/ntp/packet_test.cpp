// NTP packets byte by byte.
#include "services/ntp/packet.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::ntp {
namespace {

TEST(NtpTimestamp, CountsFrom1900) {
  // 1900 to 1970: 70 years, 17 of them leap years.
  constexpr std::uint64_t kSeconds = (70 * 365 + 17) * 86400ULL;
  EXPECT_EQ(timestamp_of(0ns), kSeconds << 32);
  EXPECT_EQ(timestamp_of(1500ms), (kSeconds + 1) << 32 | 0x8000'0000);
  EXPECT_EQ(timestamp_of(-500ms), (kSeconds - 1) << 32 | 0x8000'0000);
}

// The first era ends on 7 February 2036, 06:28:16.
TEST(NtpTimestamp, ContinuesInTheNextEra) {
  constexpr Nanos kEnd = 2'085'978'496s;
  EXPECT_EQ(timestamp_of(kEnd - 1s) >> 32, 0xffff'ffffU);
  EXPECT_EQ(timestamp_of(kEnd) >> 32, 0U);
  EXPECT_EQ(time_of(timestamp_of(kEnd + 5s), kEnd - 3s), kEnd + 5s);
  EXPECT_EQ(time_of(timestamp_of(kEnd - 3s), kEnd + 5s), kEnd - 3s);
}

RC_GTEST_PROP(NtpTimestamp, ReadsBackWithinANanosecond, ()) {
  const Nanos near{*rc::gen::inRange<std::int64_t>(0, 9'000'000'000'000'000'000)};
  const Nanos off{
      *rc::gen::inRange<std::int64_t>(-1'000'000'000'000'000'000, 1'000'000'000'000'000'000)};
  RC_PRE(near + off > 0ns && near.count() < 8'000'000'000'000'000'000);
  const Nanos read = time_of(timestamp_of(near + off), near);
  RC_ASSERT(read - (near + off) <= 1ns && (near + off) - read <= 1ns);
}

// A root distance that is rounded down would not contain the true time.
TEST(NtpShort, RoundsUp) {
  EXPECT_EQ(short_of(0ns), 0U);
  EXPECT_EQ(short_of(1ns), 1U);
  EXPECT_EQ(short_of(1s), 0x1'0000U);
  EXPECT_EQ(short_of(1s + 1ns), 0x1'0001U);
  EXPECT_EQ(short_of(-1ns), 0U);
  EXPECT_EQ(short_of(Nanos::max()), 0xffff'ffffU);
  EXPECT_EQ(span_of(0x1'8000), 1500ms);
  EXPECT_EQ(span_of(1), 15259ns);  // 15258.79 ns
}

TEST(NtpPacket, HasTheLayoutOfRfc5905) {
  const Packet packet{.leap = 3,
                      .version = 4,
                      .mode = 3,
                      .stratum = 10,
                      .poll = 6,
                      .precision = -23,
                      .root_delay = 0x01020304,
                      .root_dispersion = 0x05060708,
                      .reference_id = 0x41424344,
                      .reference = 0x1112131415161718,
                      .origin = 0x2122232425262728,
                      .receive = 0x3132333435363738,
                      .transmit = 0x4142434445464748};
  const std::vector<int> expected{
      0xe3, 0x0a, 0x06, 0xe9,                          // leap 3, version 4, mode 3; -23
      0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,  // root delay, root dispersion
      0x41, 0x42, 0x43, 0x44,                          // reference id
      0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,  // reference
      0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,  // origin
      0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,  // receive
      0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48};
  const PacketBytes bytes = encode(packet);
  ASSERT_EQ(expected.size(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << i;
  EXPECT_EQ(decode(bytes), packet);
}

TEST(NtpPacket, IsNotReadFromLess) {
  const PacketBytes bytes = encode({});
  EXPECT_FALSE(decode(std::span{bytes}.first(47)));
  EXPECT_FALSE(decode({}));
}

}  // namespace
}  // namespace tempo::ntp
