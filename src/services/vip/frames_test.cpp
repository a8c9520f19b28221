// Addresses, frames and the lines of the status socket: what comes from outside.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/vip/address_prefix.h"
#include "services/vip/neighbour_frame.h"
#include "services/vip/status.h"

namespace tempo::vip {
namespace {

using ::testing::HasSubstr;

constexpr Mac kMac{std::byte{2}, std::byte{0},    std::byte{0x5e},
                   std::byte{0}, std::byte{0x53}, std::byte{1}};

std::string refused(const char* text) {
  const auto address = AddressPrefix::parse(text);
  return address ? "" : address.error();
}

TEST(AddressPrefixes, AreReadAndWritten) {
  for (const char* text : {"192.0.2.10/24", "10.0.0.1/32", "2001:db8::10/64", "fe80::1/128"}) {
    const auto address = AddressPrefix::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text_with_prefix(), text);
  }
}

TEST(AddressPrefixes, RefuseWhatNoInterfaceCanHave) {
  EXPECT_THAT(refused("192.0.2.10"), HasSubstr("has no prefix length"));
  EXPECT_THAT(refused("web/24"), HasSubstr("is not an IPv4 or IPv6 address"));
  EXPECT_THAT(refused("192.0.2.10/33"), HasSubstr("from 1 to 32"));
  EXPECT_THAT(refused("2001:db8::1/0"), HasSubstr("from 1 to 128"));
  EXPECT_THAT(refused("192.0.2.10/2x"), HasSubstr("from 1 to 32"));
  EXPECT_THAT(refused("127.0.0.1/8"), HasSubstr("loopback"));
  EXPECT_THAT(refused("224.0.0.1/24"), HasSubstr("multicast"));
  EXPECT_THAT(refused("255.255.255.255/32"), HasSubstr("reserved"));
  EXPECT_THAT(refused("0.0.0.0/24"), HasSubstr("unspecified"));
  EXPECT_THAT(refused("::/64"), HasSubstr("unspecified"));
  EXPECT_THAT(refused("::1/128"), HasSubstr("loopback"));
  EXPECT_THAT(refused("ff02::1/64"), HasSubstr("multicast"));
  EXPECT_THAT(refused("::ffff:192.0.2.1/96"), HasSubstr("IPv4 address in IPv6 form"));
}

TEST(Frames, OfAnAnnouncementClaimTheAddress) {
  for (const char* text : {"192.0.2.10/24", "2001:db8::10/64"}) {
    const AddressPrefix address = *AddressPrefix::parse(text);
    const auto claim = read_claim(announcement(address, kMac));
    ASSERT_TRUE(claim) << text;
    EXPECT_EQ(claim->mac, kMac);
    EXPECT_EQ(claim->address.family, address.family);
    EXPECT_EQ(claim->address.bytes, address.bytes);
    EXPECT_FALSE(read_claim(probe(address, kMac))) << "a question claims nothing";
  }
}

// RFC 4861: an unsolicited advertisement with the override flag to all nodes; its checksum is right
// if the sum over it is all ones.
TEST(Frames, OfNeighbourDiscoveryAreValid) {
  const auto frame = announcement(*AddressPrefix::parse("2001:db8::10/64"), kMac);
  ASSERT_EQ(frame.size(), 14U + 40 + 32);
  EXPECT_EQ(frame[21], std::byte{255}) << "hop limit";
  EXPECT_EQ(frame[54], std::byte{136});
  EXPECT_EQ(frame[58], std::byte{0x20}) << "override";
  std::uint32_t sum = 32 + 58;
  for (std::size_t i = 22; i + 1 < frame.size(); i += 2)
    sum += std::to_integer<std::uint32_t>(frame[i]) << 8 |
           std::to_integer<std::uint32_t>(frame[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  EXPECT_EQ(sum, 0xffffU);
}

TEST(Frames, OfAnyBytesAreHarmless) {
  std::mt19937 random(7);
  const auto good = {announcement(*AddressPrefix::parse("192.0.2.10/24"), kMac),
                     announcement(*AddressPrefix::parse("2001:db8::10/64"), kMac)};
  for (const auto& frame : good) {
    for (std::size_t size = 0; size <= frame.size(); ++size)
      (void)read_claim(std::span{frame}.first(size));
    for (int i = 0; i < 20'000; ++i) {
      std::vector<std::byte> changed = frame;
      changed.resize(random() % 100 + 1);
      changed[random() % changed.size()] = static_cast<std::byte>(random());
      (void)read_claim(changed);
    }
  }
}

TEST(StatusLines, RoundTrip) {
  for (const Request request : {Request::status, Request::suspend, Request::resume})
    EXPECT_EQ(request_in(request_line(request)).value(), request);
  EXPECT_FALSE(request_in("nonsense"));
  EXPECT_FALSE(request_in(R"({"do": 3})"));
  const auto data = data_in(status_line({{.group = "web",
                                          .interface = "eth0",
                                          .addresses = {"192.0.2.10/24"},
                                          .state = "hold",
                                          .leader = "",
                                          .term = 3,
                                          .since = 5s,
                                          .reason = "",
                                          .tempod = true,
                                          .closes_in = 800ms,
                                          .gate = "tempo-vip-web"}}));
  ASSERT_TRUE(data);
  EXPECT_THAT(status_text(*data),
              HasSubstr("kernel: tables tempo-vip-web and tempo-vip-web-own close in 800 ms"));
  EXPECT_EQ(data_in(error_line("no")).error(), "no");
  EXPECT_FALSE(data_in("nonsense"));
}

}  // namespace
}  // namespace tempo::vip
