// The NTP server without a network.
#include "services/ntp/server.h"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::ntp {
namespace {

constexpr std::uint32_t kId = 0x74656d70;
constexpr Secret kSecret{std::byte{7}};
constexpr Nanos kDay = 24h;
constexpr WallTime kEpoch{kDay * 20000};
constexpr Instant kBoot{100s};

Client client(std::uint32_t number) {
  Client address{};
  std::memcpy(address.data() + 12, &number, sizeof number);
  return address;
}

class NtpServer : public testing::Test {
 protected:
  // Network time is kEpoch at kBoot, and the request arrives `age` before it is answered.
  static ServedTime served(Nanos since_boot, Nanos bound = 5us) {
    return {.raw = kBoot + since_boot,
            .time = kEpoch + since_boot,
            .bound = bound,
            .status = doors::door_status(page::Status::synchronized, bound, 1s),
            .updated = kEpoch + since_boot - 1s};
  }
  std::optional<Packet> ask(const Packet& packet, Nanos at, std::uint32_t from = 1,
                            Nanos age = 30us) {
    const PacketBytes bytes = encode(packet);
    const auto answer =
        server_.answer({.bytes = bytes, .from = client(from), .at = kBoot + at - age}, served(at));
    if (!answer) return std::nullopt;
    answer_ = *answer;
    return decode(answer->bytes);
  }
  static Packet request(Timestamp transmit = 0x1234) {
    return {.version = 4, .mode = 3, .poll = 6, .transmit = transmit};
  }

  Server server_{kId, kSecret};
  Answer answer_;
};

TEST_F(NtpServer, AnswersAClient) {
  const auto answer = ask(request(), 10s);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->mode, 4);
  EXPECT_EQ(answer->version, 4);
  EXPECT_EQ(answer->leap, 0);
  EXPECT_EQ(answer->stratum, 10);
  EXPECT_EQ(answer->poll, 6);
  EXPECT_EQ(answer->reference_id, kId);
  EXPECT_EQ(answer->origin, 0x1234U);
  EXPECT_EQ(answer->receive, timestamp_of((kEpoch + 10s - 30us).time_since_epoch()));
  EXPECT_EQ(answer->transmit, timestamp_of((kEpoch + 10s).time_since_epoch()));
  EXPECT_EQ(answer->reference, timestamp_of((kEpoch + 9s).time_since_epoch()));
  EXPECT_EQ(answer->root_delay, 0U);
  EXPECT_EQ(answer->root_dispersion, 1U);  // 5 us, rounded up to 15.3 us
  EXPECT_FALSE(answer_.wants_departure);
}

TEST_F(NtpServer, AnswersInTheVersionOfTheRequest) {
  for (const std::uint8_t version : {std::uint8_t{3}, std::uint8_t{4}}) {
    Packet packet = request();
    packet.version = version;
    EXPECT_EQ(ask(packet, 1s)->version, version);
  }
}

// Control messages, and the modes of peers and broadcasts, could be abused to amplify or to loop.
TEST_F(NtpServer, AnswersOnlyRequestsOfClients) {
  for (std::uint8_t version = 0; version < 8; ++version)
    for (std::uint8_t mode = 0; mode < 8; ++mode) {
      Packet packet = request();
      packet.version = version;
      packet.mode = mode;
      const bool valid = mode == 3 && (version == 3 || version == 4);
      EXPECT_EQ(ask(packet, 1s).has_value(), valid) << int{version} << ' ' << int{mode};
    }
  EXPECT_EQ(server_.counters().answered, 2U);
  EXPECT_EQ(server_.counters().refused, 62U);
}

TEST_F(NtpServer, NeverSendsMoreThanItGets) {
  const PacketBytes bytes = encode(request());
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  for (std::size_t size = 0; size <= 200; ++size) {
    longer.resize(size);
    std::copy_n(bytes.begin(), std::min(size, bytes.size()), longer.begin());
    const auto answer = server_.answer(
        {.bytes = longer, .from = client(static_cast<std::uint32_t>(size)), .at = kBoot + 1s},
        served(1s));
    EXPECT_EQ(answer.has_value(), size >= 48) << size;
    EXPECT_LE(answer ? answer->bytes.size() : 0, size);
  }
}

TEST_F(NtpServer, SaysWhenItIsNotSynchronized) {
  const PacketBytes bytes = encode(request());
  ServedTime nothing{.raw = kBoot + 1s, .time = kEpoch};
  const auto answer =
      server_.answer({.bytes = bytes, .from = client(1), .at = kBoot + 1s}, nothing);
  ASSERT_TRUE(answer);
  const auto packet = decode(answer->bytes);
  EXPECT_EQ(packet->leap, 3);
  EXPECT_EQ(packet->stratum, 16);
  EXPECT_EQ(packet->reference_id, 0U);
  EXPECT_EQ(packet->reference, 0U);
  EXPECT_EQ(packet->root_dispersion, short_of(16s));
}

// --- the interleaved mode ---

TEST_F(NtpServer, InterleavesPreciseDepartures) {
  const auto first = ask(request(0x1000), 1s);
  EXPECT_FALSE(answer_.wants_departure);  // an SNTP client never comes back with our timestamps
  // The client shows that it knows the answer: from now on the server remembers.
  Packet second = request(0x2000);
  second.origin = first->receive;
  second.receive = 0x1111;
  const auto basic = ask(second, 17s);
  EXPECT_TRUE(answer_.wants_departure);
  EXPECT_EQ(basic->origin, 0x2000U);
  server_.on_departure(basic->receive, kEpoch + 17s + 8us);
  Packet third = request(0x3000);
  third.origin = basic->receive;
  third.receive = 0x2222;
  const auto interleaved = ask(third, 33s);
  EXPECT_EQ(interleaved->origin, 0x2222U);
  EXPECT_EQ(interleaved->transmit, timestamp_of((kEpoch + 17s + 8us).time_since_epoch()));
  EXPECT_EQ(interleaved->receive, timestamp_of((kEpoch + 33s - 30us).time_since_epoch()));
  EXPECT_EQ(server_.counters().interleaved, 1U);
}

// The kernel did not tell when the answer left: the client gets the time just before.
TEST_F(NtpServer, InterleavesWithoutPreciseDepartures) {
  Packet packet = request(0x1000);
  packet.origin = 1;
  packet.receive = 2;
  const auto first = ask(packet, 1s);
  packet.origin = first->receive;
  const auto second = ask(packet, 2s);
  EXPECT_EQ(second->transmit, timestamp_of((kEpoch + 1s).time_since_epoch()));
}

// RFC 9769: a request with equal timestamps is one in the basic mode.
TEST_F(NtpServer, DoesNotInterleaveEqualTimestamps) {
  Packet packet = request(0x1000);
  packet.origin = 1;
  packet.receive = 2;
  packet.origin = ask(packet, 1s)->receive;
  packet.receive = packet.transmit;
  EXPECT_EQ(ask(packet, 2s)->transmit, timestamp_of((kEpoch + 2s).time_since_epoch()));
  EXPECT_EQ(server_.counters().interleaved, 0U);
}

TEST_F(NtpServer, IgnoresDeparturesOfForgottenAnswers) {
  server_.on_departure(0, kEpoch);
  server_.on_departure(0x77, kEpoch);
  Packet packet = request(0x1000);
  packet.origin = 0x77;
  packet.receive = 2;
  EXPECT_EQ(ask(packet, 1s)->origin, 0x1000U);
}

TEST_F(NtpServer, NamesTwoAnswersOfOneInstantDifferently) {
  Packet packet = request(0x1000);
  packet.origin = 1;
  packet.receive = 2;
  const auto first = ask(packet, 1s, 1);
  const auto second = ask(packet, 1s, 2);
  EXPECT_NE(first->receive, second->receive);
}

// --- the rate limit ---

TEST_F(NtpServer, LimitsOneClientAndNoOther) {
  for (int i = 0; i < RateLimiter::kBurst; ++i) EXPECT_EQ(ask(request(), 1s)->stratum, 10) << i;
  const auto kiss = ask(request(), 1s);
  ASSERT_TRUE(kiss);
  EXPECT_EQ(kiss->stratum, 0);
  EXPECT_EQ(kiss->leap, 3);
  EXPECT_EQ(kiss->reference_id, 0x52415445U);  // RATE
  EXPECT_EQ(kiss->origin, 0x1234U);
  EXPECT_EQ(kiss->poll, 6);
  EXPECT_FALSE(ask(request(), 1s)) << "one kiss of death per second";
  EXPECT_TRUE(ask(request(), 1s, 2)) << "another client";
  EXPECT_EQ(ask(request(), 1s + RateLimiter::kInterval)->stratum, 10);
  EXPECT_EQ(server_.counters().limited, 2U);
}

TEST_F(NtpServer, LetsClientsAskAsOftenAsTheIntervalSays) {
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(ask(request(), 1s + i * RateLimiter::kInterval)->stratum, 10) << i;
}

// A table that is full forgets clients: their limit begins again, and no other client suffers.
TEST(NtpRateLimiter, HasABoundedTable) {
  RateLimiter limiter(kSecret);
  constexpr std::uint32_t kClients = 4 * RateLimiter::kSets * RateLimiter::kWays;
  for (std::uint32_t i = 0; i < kClients; ++i)
    EXPECT_EQ(limiter.ask(client(i), kBoot), RateLimiter::Verdict::answer);
}

// Of ten thousand clients at one request per 16 s, none is limited.
TEST(NtpRateLimiter, ServesTenThousandClients) {
  RateLimiter limiter(kSecret);
  for (int round = 0; round < 40; ++round)
    for (std::uint32_t i = 0; i < 10'000; ++i)
      ASSERT_EQ(limiter.ask(client(i), kBoot + round * 16s + i * 1600us),
                RateLimiter::Verdict::answer);
}

}  // namespace
}  // namespace tempo::ntp
