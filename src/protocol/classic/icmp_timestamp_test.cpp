#include "protocol/classic/icmp_timestamp.h"

#include <vector>

#include <gtest/gtest.h>

namespace tempo::classic {
namespace {

using Bytes = std::vector<std::byte>;

Bytes packet_of(std::initializer_list<int> icmp, int header_words = 5, int protocol = 1) {
  Bytes packet(4 * static_cast<std::size_t>(header_words));
  packet[0] = std::byte(0x40 | header_words);
  packet[9] = std::byte(protocol);
  for (const int byte : icmp) packet.push_back(std::byte(byte));
  return packet;
}

// Type 13, id 0x0102, sequence 3, 00:00:01.000 UT. The sum of the other words is
// 0x0d00 + 0x0102 + 0x0003 + 0x03e8 = 0x11ed; its complement is 0xee12.
constexpr std::initializer_list<int> kRequest{13, 0,    0xee, 0x12, 1, 2, 0, 3, 0, 0,
                                              3,  0xe8, 0,    0,    0, 0, 0, 0, 0, 0};

TEST(IcmpTimestamp, ReadsARequest) {
  const IcmpTimestamp expected{.stamps = {.id = 0x0102, .sequence = 3, .originate = 1000}};
  EXPECT_EQ(parse_icmp(packet_of(kRequest)), expected);
  EXPECT_EQ(parse_icmp(packet_of(kRequest, 7)), expected) << "with IP options";
  const auto written = write_icmp(expected);
  const Bytes packet = packet_of(kRequest);
  EXPECT_EQ(Bytes(written.begin(), written.end()), Bytes(packet.begin() + 20, packet.end()));
}

TEST(IcmpTimestamp, ReadsWhatItWrites) {
  const IcmpTimestamp reply{.reply = true,
                            .stamps = {.id = 0xffff,
                                       .sequence = 0x8000,
                                       .originate = 86'399'999,
                                       .receive = 1,
                                       .transmit = 0xfffffffe}};
  Bytes packet = packet_of({});
  for (const std::byte byte : write_icmp(reply)) packet.push_back(byte);
  EXPECT_EQ(parse_icmp(packet), reply);
}

// A 64-bit build of netkit's daemon sends 40 bytes. Its requests were refused because the checksum
// was taken over 20 bytes, so it could not measure this clock and dropped the slave again and
// again.
TEST(IcmpTimestamp, ReadsARequestThatIsLonger) {
  const IcmpTimestamp expected{.stamps = {.id = 0x0102, .sequence = 3, .originate = 1000}};
  // 0x11ed + 0x1234 = 0x2421; its complement is 0xdbde.
  EXPECT_EQ(parse_icmp(packet_of({13,   0, 0xdb, 0xde, 1, 2, 0, 3, 0, 0,    3,
                                  0xe8, 0, 0,    0,    0, 0, 0, 0, 0, 0x12, 0x34})),
            expected);
  // The same and 0x56 at the end of an odd number of bytes: 0x2421 + 0x5600 = 0x7a21.
  EXPECT_EQ(parse_icmp(packet_of({13, 0, 0x85, 0xde, 1, 2, 0, 3, 0,    0,    3,   0xe8,
                                  0,  0, 0,    0,    0, 0, 0, 0, 0x12, 0x34, 0x56})),
            expected);
}

TEST(IcmpTimestamp, RefusesEverythingElse) {
  Bytes good = packet_of(kRequest);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parse_icmp(std::span(good).first(size))) << size;
  EXPECT_FALSE(parse_icmp(packet_of(kRequest, 5, 17))) << "UDP";
  EXPECT_FALSE(parse_icmp(packet_of(kRequest, 4))) << "a header of 16 bytes";
  Bytes version6 = good;
  version6[0] = std::byte{0x65};
  EXPECT_FALSE(parse_icmp(version6));
  for (std::size_t i = 20; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_FALSE(parse_icmp(bad)) << "a flipped bit in byte " << i;
  }
  // An echo request with a correct checksum: 0x0800 instead of 0x0d00.
  EXPECT_FALSE(
      parse_icmp(packet_of({8, 0, 0xf3, 0x12, 1, 2, 0, 3, 0, 0, 3, 0xe8, 0, 0, 0, 0, 0, 0, 0, 0})));
}

}  // namespace
}  // namespace tempo::classic
