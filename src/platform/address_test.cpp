#include "platform/address.h"

#include <string>

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>

namespace tempo::sys {
namespace {

std::string parsed(const char* text) {
  const auto address = Address::parse(text, 525);
  return address ? address->text_with_port() : address.error();
}

TEST(Address, ParsesWithAndWithoutPort) {
  EXPECT_EQ(parsed("192.0.2.7"), "192.0.2.7:525");
  EXPECT_EQ(parsed("192.0.2.7:99"), "192.0.2.7:99");
  EXPECT_EQ(parsed("2001:db8::1"), "[2001:db8::1]:525");
  EXPECT_EQ(parsed("[2001:db8::1]"), "[2001:db8::1]:525");
  EXPECT_EQ(parsed("[2001:db8::1]:99"), "[2001:db8::1]:99");
}

TEST(Address, LinkLocalHasAnInterface) {
  const auto address = Address::parse("[fe80::1%lo]:99", 525);
  ASSERT_TRUE(address);
  EXPECT_EQ(address->scope(), if_nametoindex("lo"));
  EXPECT_EQ(address->text(), "fe80::1%lo");
  EXPECT_EQ(parsed("fe80::1%4000000"), "[fe80::1%4000000]:525");
}

TEST(Address, RejectsInvalidText) {
  EXPECT_EQ(parsed("example"), "'example' is not an IP address");
  EXPECT_EQ(parsed(""), "'' is not an IP address");
  EXPECT_EQ(parsed("192.0.2"), "'192.0.2' is not an IP address");
  EXPECT_EQ(parsed("192.0.2.7%lo"), "'192.0.2.7%lo' is not an IP address");
  EXPECT_EQ(parsed("[192.0.2.7]:5"), "'[192.0.2.7]:5' is not an IP address");
  EXPECT_EQ(parsed("[::1"), "'[::1' is not an IP address");
  EXPECT_EQ(parsed("[::1]5"), "'[::1]5' is not an IP address");
  EXPECT_EQ(parsed("fe80::1%"), "'fe80::1%' is not an IP address");
  EXPECT_EQ(parsed("fe80::1%nowhere"), "'fe80::1%nowhere': no interface 'nowhere'");
  EXPECT_EQ(parsed("192.0.2.7:"), "'192.0.2.7:': '' is not a port");
  EXPECT_EQ(parsed("192.0.2.7:0"), "'192.0.2.7:0': '0' is not a port");
  EXPECT_EQ(parsed("192.0.2.7:65536"), "'192.0.2.7:65536': '65536' is not a port");
}

TEST(Address, ComparesByAddressPortAndScope) {
  const auto address = [](const char* text) { return *Address::parse(text, 525); };
  EXPECT_EQ(address("192.0.2.7"), address("192.0.2.7:525"));
  EXPECT_NE(address("192.0.2.7"), address("192.0.2.8"));
  EXPECT_NE(address("192.0.2.7"), address("192.0.2.7:99"));
  EXPECT_EQ(address("::1"), address("[0:0::1]:525"));
  EXPECT_NE(address("::1"), address("::2"));
  EXPECT_NE(address("fe80::1%1"), address("fe80::1%2"));
  EXPECT_NE(address("192.0.2.7"), Address{});
  EXPECT_EQ(Address{}, Address{});
}

// The kernel may leave anything in the flow label and the padding.
TEST(Address, IgnoresFlowLabelAndPadding) {
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  raw.sin6_port = htons(525);
  raw.sin6_addr = in6addr_loopback;
  raw.sin6_flowinfo = 12345;
  EXPECT_EQ(Address(reinterpret_cast<const sockaddr*>(&raw), sizeof raw),
            *Address::parse("::1", 525));
}

TEST(Address, ReplacesThePort) {
  EXPECT_EQ(Address::parse("192.0.2.7", 1)->with_port(2).text_with_port(), "192.0.2.7:2");
  EXPECT_EQ(Address::parse("fe80::1%1", 1)->with_port(2), *Address::parse("fe80::1%1", 2));
  EXPECT_TRUE(Address{}.with_port(2).none());
}

TEST(Address, RecognisesAny) {
  EXPECT_TRUE(Address::parse("0.0.0.0", 1)->any());
  EXPECT_TRUE(Address::parse("::", 1)->any());
  EXPECT_FALSE(Address::parse("0.0.0.1", 1)->any());
  EXPECT_FALSE(Address::parse("::1", 1)->any());
  EXPECT_FALSE(Address{}.any());
}

TEST(Address, RecognisesMulticast) {
  EXPECT_TRUE(Address::parse("ff02::1", 1)->multicast());
  EXPECT_TRUE(Address::parse("239.1.2.3", 1)->multicast());
  EXPECT_FALSE(Address::parse("fe80::1", 1)->multicast());
  EXPECT_FALSE(Address::parse("192.0.2.255", 1)->multicast());
}

}  // namespace
}  // namespace tempo::sys
