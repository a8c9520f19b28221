#include "platform/network.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>

#include "platform/descriptor.h"
#include "platform/namespace_test_setup.h"

namespace tempo::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Nanos kLongestWait = 20s;

Address address(std::string_view text, std::uint16_t port = 0) {
  return Address::parse(text, port).value();
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '\0');
  if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

// Polls until there is a result or the time is up.
template <class Ask>
auto await(const Network& network, Ask ask) {
  const Instant end = raw_now() + kLongestWait;
  auto answer = ask();
  while (!answer && raw_now() < end) {
    std::vector<pollfd> polled;
    for (const int descriptor : network.descriptors())
      polled.push_back({.fd = descriptor, .events = POLLIN | POLLPRI, .revents = 0});
    poll(polled.data(), polled.size(), 100);
    answer = ask();
  }
  return answer;
}

std::optional<Arrival> next(Network& network) {
  return await(network, [&] { return network.receive(); });
}
std::optional<Departure> stamp_of(Network& network) {
  return await(network, [&] { return network.departure(); });
}

// The kernel starts timestamping shortly after the first socket requests it, so the first arrivals
// may have no timestamp: send until one has.
std::optional<Arrival> stamped_arrival(Network& from, Network& to, std::string_view text) {
  const Instant end = raw_now() + kLongestWait;
  for (;;) {
    from.send(to.bound().front(), bytes_of(text), false);
    const auto arrival = next(to);
    if (!arrival || arrival->kernel_stamp || raw_now() > end) return arrival;
  }
}

class Loopback : public ::testing::Test {
 protected:
  // As in a demonstration: an address of 127.0.0.0/8 for each node, one broadcast address for all.
  std::unique_ptr<Network> demo(const char* own, std::uint16_t port = 0) {
    return opened({.label = own,
                   .bind = {address(own), address("127.255.255.255")},
                   .everyone = {address("127.255.255.255")},
                   .port = port});
  }
  std::unique_ptr<Network> opened(const NetworkOptions& options) {
    auto network = Network::open(options, *oscillator_);
    EXPECT_TRUE(network) << network.error();
    return std::move(network).value_or(nullptr);
  }
  static std::uint16_t port_of(const Network& network) { return network.bound().front().port(); }

  std::unique_ptr<Oscillator> oscillator_ = real_oscillator();
};

TEST_F(Loopback, CarriesADatagramWithTheKernelsStamp) {
  const auto one = demo("127.0.0.1");
  const auto two = demo("127.0.0.2", port_of(*one));
  const Instant before = oscillator_->now();
  const auto arrival = stamped_arrival(*one, *two, "hello");
  ASSERT_TRUE(arrival);
  EXPECT_EQ(text_of(arrival->bytes), "hello");
  EXPECT_EQ(arrival->from, one->bound().front());
  EXPECT_TRUE(arrival->kernel_stamp);
  EXPECT_TRUE(two->kernel_stamps());
  EXPECT_GT(arrival->at, before - 10us);
  EXPECT_LE(arrival->at, oscillator_->now());
}

TEST_F(Loopback, BroadcastReachesAllOthers) {
  const auto one = demo("127.0.0.1");
  const auto two = demo("127.0.0.2", port_of(*one));
  const auto three = demo("127.0.0.3", port_of(*one));
  two->broadcast(bytes_of("all"));
  for (Network* const network : {one.get(), three.get()}) {
    const auto arrival = next(*network);
    ASSERT_TRUE(arrival) << network->label();
    EXPECT_EQ(text_of(arrival->bytes), "all");
    EXPECT_EQ(arrival->from, two->bound().front());
    EXPECT_FALSE(network->receive()) << "only once";
  }
  EXPECT_FALSE(two->receive()) << "its own";
}

// With SO_REUSEADDR on every socket a second daemon opened the addresses of the first, and the
// kernel gave each datagram to one of them.
TEST_F(Loopback, OnlyTheBroadcastAddressIsShared) {
  const auto one = demo("127.0.0.1");
  const NetworkOptions same{.label = "same",
                            .bind = {address("127.0.0.1"), address("127.255.255.255")},
                            .everyone = {address("127.255.255.255")},
                            .port = port_of(*one)};
  const auto second = Network::open(same, *oscillator_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("Address already in use"), std::string::npos) << second.error();
  // Also where the own address is one of the peers.
  const NetworkOptions peers{
      .label = "peers", .bind = {address("127.0.0.4")}, .everyone = {address("127.0.0.4")}};
  const auto first_peer = opened(peers);
  NetworkOptions again = peers;
  again.port = port_of(*first_peer);
  EXPECT_FALSE(Network::open(again, *oscillator_));
}

// Datagrams of another program on this host, and of another host with the same port, must pass.
TEST_F(Loopback, FiltersOnlyItsOwnBroadcasts) {
  const auto one = demo("127.0.0.1");
  const auto same_address = demo("127.0.0.1");
  const Address everyone = address("127.255.255.255").with_port(port_of(*one));
  same_address->send(everyone, bytes_of("same address"), false);
  const auto first = next(*one);
  ASSERT_TRUE(first);
  EXPECT_EQ(text_of(first->bytes), "same address");
  const auto same_port = demo("127.0.0.2", port_of(*one));
  same_port->broadcast(bytes_of("same port"));
  const auto second = next(*one);
  ASSERT_TRUE(second);
  EXPECT_EQ(text_of(second->bytes), "same port");
}

TEST_F(Loopback, TransmitStampsComeOnRequest) {
  const auto one = demo("127.0.0.1");
  const auto two = demo("127.0.0.2", port_of(*one));
  const Address to = two->bound().front();
  std::vector<std::uint32_t> asked;
  std::vector<std::uint32_t> stamped;
  for (int round = 0; round < 5; ++round) {
    EXPECT_FALSE(one->send(to, bytes_of("no"), false));
    const Instant before = oscillator_->now();
    const auto transmission = one->send(to, bytes_of("yes"), true);
    ASSERT_TRUE(transmission);
    asked.push_back(*transmission);
    const auto departure = stamp_of(*one);
    ASSERT_TRUE(departure);
    stamped.push_back(departure->transmission);
    EXPECT_TRUE(departure->kernel_stamp);
    EXPECT_GT(departure->at, before - 10us);
    EXPECT_LE(departure->at, oscillator_->now());
  }
  EXPECT_EQ(stamped, asked);
  EXPECT_FALSE(one->departure());
}

TEST_F(Loopback, TransmitStampIsNotLaterThanTheReceiveStamp) {
  const auto one = demo("127.0.0.1");
  const auto two = demo("127.0.0.2", port_of(*one));
  ASSERT_TRUE(stamped_arrival(*one, *two, "first"));
  one->send(two->bound().front(), bytes_of("second"), true);
  const auto departure = stamp_of(*one);
  const auto arrival = next(*two);
  ASSERT_TRUE(departure);
  ASSERT_TRUE(arrival);
  EXPECT_LE(departure->at, arrival->at + 10us);
}

TEST_F(Loopback, ManyStampsAreMatchedByTheirNumbers) {
  const auto one = demo("127.0.0.1");
  const auto two = demo("127.0.0.2", port_of(*one));
  std::vector<std::uint32_t> asked;
  for (int round = 0; round < 40; ++round)
    asked.push_back(*one->send(two->bound().front(), bytes_of("x"), true));
  std::vector<std::uint32_t> stamped;
  Instant last{};
  for (int round = 0; round < 40; ++round) {
    const auto departure = stamp_of(*one);
    ASSERT_TRUE(departure);
    stamped.push_back(departure->transmission);
    EXPECT_TRUE(departure->kernel_stamp);
    EXPECT_GT(departure->at, last - 10us);
    last = departure->at;
  }
  EXPECT_EQ(stamped, asked);
}

TEST_F(Loopback, FailedSendIsCountedAndDoesNotShiftTheNumbers) {
  const auto one = demo("127.0.0.1");
  const auto two = demo("127.0.0.2", port_of(*one));
  // A successful send first: only a numbering that has begun can be shifted.
  ASSERT_TRUE(one->send(two->bound().front(), bytes_of("x"), true));
  ASSERT_TRUE(stamp_of(*one));
  // Too long for a datagram.
  const std::vector<std::byte> huge(70'000);
  EXPECT_FALSE(one->send(two->bound().front(), huge, true));
  EXPECT_FALSE(one->send(address("::1", 9), bytes_of("x"), true));
  EXPECT_THAT(one->losses().unsent,
              ElementsAre(std::pair{EMSGSIZE, 1U}, std::pair{EAFNOSUPPORT, 1U}));
  const auto transmission = one->send(two->bound().front(), bytes_of("x"), true);
  const auto departure = stamp_of(*one);
  ASSERT_TRUE(departure);
  EXPECT_EQ(departure->transmission, transmission);
  EXPECT_TRUE(departure->kernel_stamp);
}

TEST_F(Loopback, EmptyDatagramArrivesAndATooLongOneIsDroppedAndCounted) {
  const auto one = demo("127.0.0.1");
  const auto two = demo("127.0.0.2", port_of(*one));
  const Address to = two->bound().front();
  one->send(to, std::vector<std::byte>(Network::kMaxBytes + 1), false);
  one->send(to, {}, false);
  one->send(to, std::vector<std::byte>(Network::kMaxBytes), false);
  const auto empty = next(*two);
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->bytes.size(), 0U);
  const auto longest = next(*two);
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->bytes.size(), Network::kMaxBytes);
  EXPECT_EQ(two->losses().too_long, 1U);
}

TEST_F(Loopback, PeersAreReachedOneByOne) {
  const auto two = demo("127.0.0.2");
  const auto three = demo("127.0.0.3");
  const auto one = opened({.label = "peers",
                           .bind = {address("127.0.0.1")},
                           .everyone = {two->bound().front(), three->bound().front()}});
  one->broadcast(bytes_of("to each"));
  for (Network* const network : {two.get(), three.get()}) {
    const auto arrival = next(*network);
    ASSERT_TRUE(arrival) << network->label();
    EXPECT_EQ(text_of(arrival->bytes), "to each");
    EXPECT_EQ(arrival->from, one->bound().front());
  }
}

TEST_F(Loopback, CarriesIpv6WithStamps) {
  const auto open_at_loopback = [this] {
    return opened({.label = "six", .bind = {address("::1")}});
  };
  if (auto probe = plain_socket(AF_INET6, SOCK_DGRAM, 0);
      !probe || ::bind(probe->number(), address("::1").raw(), address("::1").size()) != 0) {
    GTEST_SKIP() << "needs IPv6 on the loopback interface";
  }
  const auto one = open_at_loopback();
  const auto two = open_at_loopback();
  const auto transmission = one->send(two->bound().front(), bytes_of("six"), true);
  const auto departure = stamp_of(*one);
  ASSERT_TRUE(departure);
  EXPECT_EQ(departure->transmission, transmission);
  EXPECT_TRUE(departure->kernel_stamp);
  ASSERT_TRUE(next(*two));
  const auto arrival = stamped_arrival(*one, *two, "six");
  ASSERT_TRUE(arrival);
  EXPECT_EQ(text_of(arrival->bytes), "six");
  EXPECT_EQ(arrival->from, one->bound().front());
  EXPECT_TRUE(arrival->kernel_stamp);
}

TEST_F(Loopback, SocketsAreNonblockingAndCloseOnExec) {
  const auto one = demo("127.0.0.1");
  EXPECT_FALSE(one->receive());
  EXPECT_FALSE(one->departure());
  for (const int descriptor : one->descriptors()) {
    EXPECT_NE(fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST_F(Loopback, ForeignAddressIsAnError) {
  const auto network = Network::open(
      {.label = "far", .bind = {address("192.0.2.7", 525)}, .everyone = {}, .port = 525},
      *oscillator_);
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error(),
            "bind 192.0.2.7:525: Cannot assign requested address; no interface has this address: "
            "add it, or "
            "correct 'bind' and 'interfaces'");
  const auto nowhere = Network::open({.label = "nowhere", .port = 525}, *oscillator_);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error(), "nowhere: no address to bind; check 'interfaces' and 'peers'");
}

std::vector<std::string> labels(const std::vector<NetworkOptions>& networks) {
  std::vector<std::string> all;
  for (const NetworkOptions& network : networks) all.push_back(network.label);
  return all;
}

// A pair of interfaces in one namespace is enough here; two hosts would need two namespaces.
class Interfaces : public Loopback {
 protected:
  static void make_pair() {
    ASSERT_TRUE(TestNamespace::ip("link set lo up"));
    ASSERT_TRUE(TestNamespace::ip("link add left type veth peer name right"));
    ASSERT_TRUE(TestNamespace::ip("addr add 10.1.0.1/24 dev left"));
    ASSERT_TRUE(TestNamespace::ip("addr add 10.1.0.2/24 dev left"));
    ASSERT_TRUE(TestNamespace::ip("addr add 10.2.0.1/30 dev left"));
    ASSERT_TRUE(TestNamespace::ip("addr add 10.3.0.1/32 dev left"));
    ASSERT_TRUE(TestNamespace::ip("addr add 10.4.0.1/16 dev right"));
    ASSERT_TRUE(TestNamespace::ip("link set left up"));
    ASSERT_TRUE(TestNamespace::ip("link set right up"));
  }
};

TEST_F(Interfaces, AreFoundWithTheirSubnets) {
  TEST_NAMESPACE(alone);
  make_pair();
  const auto all = find_networks({}, 525, false).value();
  auto names = labels(all);
  std::ranges::sort(names);
  ASSERT_THAT(names, ElementsAre("left", "left/10.2.0.1", "right"));
  const auto left = std::ranges::find(all, "left", &NetworkOptions::label);
  EXPECT_THAT(left->bind, ElementsAre(address("10.1.0.1:525"), address("10.1.0.255:525")));
  EXPECT_THAT(left->everyone, ElementsAre(address("10.1.0.255:525")));
  EXPECT_EQ(left->interface, "left");
  EXPECT_FALSE(left->multicast);
  const std::vector<std::string> only{"right"};
  EXPECT_THAT(labels(*find_networks(only, 525, false)), ElementsAre("right"));
  ASSERT_TRUE(TestNamespace::ip("link set right down"));
  EXPECT_THAT(*find_networks(only, 525, false), IsEmpty());
}

TEST_F(Interfaces, ReceiveOnlyTheirOwnBroadcasts) {
  TEST_NAMESPACE(alone);
  make_pair();
  const std::vector<std::string> only{"left"};
  const auto networks = find_networks(only, 0, false).value();
  ASSERT_EQ(networks.size(), 2U);
  const auto first = opened(networks[0]);
  auto other_options = networks[1];
  other_options.port = port_of(*first);
  const auto other = opened(other_options);
  // Not from its own port: that one is filtered. The kernel loops it back.
  const auto sender = opened(networks[0]);
  sender->send(networks[0].everyone.front().with_port(port_of(*first)), bytes_of("here"), false);
  const auto arrival = next(*first);
  ASSERT_TRUE(arrival);
  EXPECT_EQ(text_of(arrival->bytes), "here");
  EXPECT_EQ(arrival->from, sender->bound().front());
  EXPECT_FALSE(other->receive());
}

TEST_F(Interfaces, OfIpv6ShareAGroup) {
  TEST_NAMESPACE(alone);
  make_pair();
  for (const char* name : {"left", "right"}) {
    // Fixed link-local addresses, without duplicate address detection.
    const std::string known = name == std::string_view{"left"} ? "fe80::1" : "fe80::2";
    if (!TestNamespace::ip("addr add " + known + "/64 dev " + name + " nodad"))
      GTEST_SKIP() << "needs IPv6";
  }
  const auto group_of = [&](const char* name, const char* own, std::uint16_t port) {
    const std::string scope = std::string{"%"} + name;
    return opened({.label = name,
                   .bind = {address(own + scope), address(kGroup + scope)},
                   .everyone = {address(kGroup + scope)},
                   .port = port,
                   .multicast = true,
                   .interface = name});
  };
  const auto left = group_of("left", "fe80::1", 0);
  const auto right = group_of("right", "fe80::2", port_of(*left));
  // A multicast may be lost while the interface comes up: repeat it until it arrives.
  std::optional<Arrival> arrival;
  for (int attempt = 0; attempt < 200 && !arrival; ++attempt) {
    left->broadcast(bytes_of("group"));
    std::vector<pollfd> polled;
    for (const int descriptor : right->descriptors())
      polled.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    poll(polled.data(), polled.size(), 100);
    arrival = right->receive();
  }
  ASSERT_TRUE(arrival);
  EXPECT_EQ(text_of(arrival->bytes), "group");
  EXPECT_EQ(arrival->from.text(), "fe80::1%right");  // with the scope of the receiver
  // The answer goes back to the sender.
  right->send(arrival->from, bytes_of("answer"), false);
  for (;;) {
    const auto answer = next(*left);
    ASSERT_TRUE(answer);
    if (text_of(answer->bytes) == "group") continue;  // own multicasts come back
    EXPECT_EQ(text_of(answer->bytes), "answer");
    EXPECT_EQ(answer->from.text(), "fe80::2%left");
    break;
  }
}

TEST_F(Interfaces, AreFoundForIpv6OnRequest) {
  TEST_NAMESPACE(alone);
  make_pair();
  if (!TestNamespace::ip("addr add fe80::1/64 dev left nodad")) GTEST_SKIP() << "needs IPv6";
  ASSERT_TRUE(TestNamespace::ip("link set right addrgenmode none"));
  ASSERT_TRUE(TestNamespace::ip("-6 addr flush dev right"));
  const auto networks = find_networks({}, 525, true).value();
  ASSERT_EQ(networks.size(), 2U);
  EXPECT_EQ(networks[0].label, "left");
  EXPECT_TRUE(networks[0].multicast);
  EXPECT_EQ(networks[0].everyone.front(), address(kGroup + std::string{"%left"}, 525));
  EXPECT_EQ(networks[0].bind.front().scope(), if_nametoindex("left"));
  EXPECT_EQ(networks[1].label, "right");  // has no link-local address
  EXPECT_FALSE(networks[1].multicast);
}

}  // namespace
}  // namespace tempo::sys
