// The NTP client against servers that are right, wrong, forged and in a loop.
#include "services/ntp/upstream.h"

#include <vector>

#include <gtest/gtest.h>

namespace tempo::ntp {
namespace {

using Verdict = Upstream::Verdict;
using State = clock::UtcSources::State;

constexpr std::uint32_t kOwnId = 0x74656d70;
constexpr Nanos kUtc = 1'800'000'000s;  // when raw time is 0

class NtpUpstream : public testing::Test {
 protected:
  // What a server answers: its clock is `wrong` by this much, the request takes `there` and the
  // answer `back`.
  struct Server {
    Nanos wrong{0};
    Nanos there = 400us;
    Nanos back = 200us;
    Packet packet{.version = 4,
                  .mode = 4,
                  .stratum = 2,
                  .root_delay = 0,
                  .root_dispersion = 0,
                  .reference_id = 7};
  };

  // Runs until `end`; the last verdict of each server.
  std::vector<Verdict> run(Upstream& upstream, const std::vector<Server>& servers, Instant end) {
    std::vector<Verdict> verdicts(servers.size(), Verdict::unexpected);
    for (; upstream.next() < end; now_ = std::max(now_, upstream.next())) {
      while (const auto request = upstream.ask(now_, draw_)) {
        ++requests_;
        const Server& server = servers[request->server];
        const auto asked = decode(request->bytes);
        Packet answer = server.packet;
        answer.origin = asked->transmit;
        const Instant arrives = now_ + server.there;
        answer.receive = timestamp_of(kUtc + arrives.time_since_epoch() + server.wrong);
        answer.transmit = timestamp_of(kUtc + arrives.time_since_epoch() + server.wrong + 30us);
        const Instant at = arrives + 30us + server.back;
        verdicts[request->server] =
            upstream.receive(request->server, encode(answer), at, kUtc + at.time_since_epoch());
      }
    }
    return verdicts;
  }
  Nanos error_of(const clock::UtcSources::Reading& reading, Instant at) const {
    return reading.utc - kUtc - at.time_since_epoch();
  }

  Stream chance_{1, 2, 3};
  StreamDraw draw_{chance_};
  Instant now_{100s};
  int requests_ = 0;
};

TEST_F(NtpUpstream, LearnsUtcWithinHalfOfTheDelay) {
  Upstream upstream(1, kOwnId, now_);
  const auto verdicts = run(upstream, {Server{}}, Instant{160s});
  EXPECT_EQ(verdicts[0], Verdict::used);
  const auto reading = upstream.read(Instant{160s});
  ASSERT_TRUE(reading);
  // The way there takes 200 us longer than the way back: half of that is the error.
  EXPECT_NEAR(static_cast<double>(error_of(*reading, Instant{160s}).count()), 100e3, 1e3);
  EXPECT_GE(reading->bound, 300us);
  EXPECT_LT(reading->bound, 400us);
}

// 2 s apart until eight answers have come, then 16 s.
TEST_F(NtpUpstream, AsksQuicklyAtFirst) {
  Upstream upstream(1, kOwnId, now_);
  run(upstream, {Server{}}, Instant{114s + 1ms});
  EXPECT_EQ(requests_, 8);
  run(upstream, {Server{}}, Instant{116s + 160s});
  EXPECT_EQ(requests_, 8 + 10);
}

TEST_F(NtpUpstream, OutvotesALyingServer) {
  Upstream upstream(3, kOwnId, now_);
  run(upstream, {Server{}, Server{.wrong = 2s}, Server{}}, Instant{200s});
  const auto reading = upstream.read(Instant{200s});
  ASSERT_TRUE(reading);
  EXPECT_LE(std::chrono::abs(error_of(*reading, Instant{200s})), reading->bound);
  EXPECT_EQ(upstream.state(1), State::outvoted);
  EXPECT_EQ(upstream.state(0), State::used);
}

TEST_F(NtpUpstream, StatesTheDistanceOfTheServer) {
  Upstream upstream(1, kOwnId, now_);
  Server far;
  far.packet.root_delay = short_of(20ms);
  far.packet.root_dispersion = short_of(5ms);
  run(upstream, {far}, Instant{160s});
  EXPECT_GE(upstream.read(Instant{160s})->bound, 15ms);
}

TEST_F(NtpUpstream, RefusesAnswersThatSayNothing) {
  const auto verdict_of = [&](auto change) {
    Upstream upstream(1, kOwnId, now_);
    Server server;
    change(server);
    const Verdict verdict = run(upstream, {server}, now_ + 1s)[0];
    now_ += 10s;
    return verdict;
  };
  EXPECT_EQ(verdict_of([](Server&) {}), Verdict::used);
  EXPECT_EQ(verdict_of([](Server& one) { one.packet.leap = 3; }), Verdict::unsynchronized);
  EXPECT_EQ(verdict_of([](Server& one) { one.packet.stratum = 16; }), Verdict::unsynchronized);
  EXPECT_EQ(verdict_of([](Server& one) { one.packet.mode = 3; }), Verdict::unexpected);
  EXPECT_EQ(verdict_of([](Server& one) { one.packet.reference_id = kOwnId; }), Verdict::loop);
  EXPECT_EQ(verdict_of([](Server& one) { one.there = 1100ms; }), Verdict::too_far);
  EXPECT_EQ(verdict_of([](Server& one) { one.packet.root_dispersion = short_of(2s); }),
            Verdict::too_far);
  EXPECT_EQ(verdict_of([](Server& one) { one.packet.stratum = 0; }), Verdict::kiss);
}

// An attacker who does not see the request cannot forge its answer, and a recorded answer counts
// once.
TEST_F(NtpUpstream, BelievesOneAnswerToItsOwnRequest) {
  Upstream upstream(1, kOwnId, now_);
  const auto request = upstream.ask(now_, draw_);
  Packet answer{.version = 4, .mode = 4, .stratum = 1};
  answer.receive = answer.transmit = timestamp_of(kUtc + now_.time_since_epoch());
  const auto receive = [&] {
    return upstream.receive(0, encode(answer), now_ + 1ms, kUtc + now_.time_since_epoch());
  };
  EXPECT_EQ(receive(), Verdict::unexpected);
  answer.origin = decode(request->bytes)->transmit;
  EXPECT_EQ(receive(), Verdict::used);
  EXPECT_EQ(receive(), Verdict::unexpected);
  answer.origin = 0;
  EXPECT_EQ(receive(), Verdict::unexpected);
}

// A server that sends the kiss of death is asked less and less often.
TEST_F(NtpUpstream, AsksLessOftenAfterAKissOfDeath) {
  Upstream upstream(1, kOwnId, now_);
  Server annoyed;
  annoyed.packet.stratum = 0;
  run(upstream, {annoyed}, now_ + 4000s);
  EXPECT_LE(requests_, 10);
  EXPECT_GE(requests_, 5);
}

}  // namespace
}  // namespace tempo::ntp
