#include "protocol/wire/liveness.h"

#include <gtest/gtest.h>

namespace tempo::wire {
namespace {

using Response = Liveness::Response;

constexpr Instant kNow{1000s};
constexpr Process kPeer{
    .host = HostId{2}, .incarnation = Incarnation{10}, .nonce = Nonce{0x1234567890}};

Liveness liveness_of(Nanos exchange_interval = 1s) { return {auth::new_key(), exchange_interval}; }

TEST(Liveness, AResponseIsCurrentForAPeriodAndOldAfterIt) {
  const Liveness liveness = liveness_of();
  EXPECT_EQ(liveness.period(), 60s);
  const std::uint64_t challenge = liveness.challenge(kNow, kPeer, 0);
  EXPECT_EQ(liveness.judge(kNow, kPeer, 0, challenge), Response::current);
  EXPECT_EQ(liveness.judge(kNow + 30s, kPeer, 0, challenge), Response::current);
  EXPECT_EQ(liveness.judge(kNow + 60s, kPeer, 0, challenge), Response::old);
  EXPECT_EQ(liveness.judge(kNow + 240h, kPeer, 0, challenge), Response::old);
  EXPECT_EQ(liveness.judge(kNow, kPeer, 0, 0), Response::none);
}

TEST(Liveness, AResponseIsOfOneProcessToOneProcess) {
  const Liveness liveness = liveness_of();
  const std::uint64_t challenge = liveness.challenge(kNow, kPeer, 0);
  for (const Process& other : {Process{HostId{3}, kPeer.incarnation, kPeer.nonce},
                               Process{kPeer.host, Incarnation{11}, kPeer.nonce},
                               Process{kPeer.host, kPeer.incarnation, Nonce{7}}})
    EXPECT_EQ(liveness.judge(kNow, other, 0, challenge), Response::foreign);
  EXPECT_EQ(liveness.judge(kNow, kPeer, 1, challenge), Response::foreign) << "another followed it";
  EXPECT_EQ(liveness_of().judge(kNow, kPeer, 0, challenge), Response::foreign)
      << "this process was restarted";
  for (int bit = 0; bit < 64; ++bit)
    EXPECT_EQ(liveness.judge(kNow, kPeer, 0, challenge ^ (std::uint64_t{1} << bit)),
              Response::foreign);
}

// The number of the time span on the wire repeats after 22 days; the challenge does not.
TEST(Liveness, ChallengesDoNotRepeat) {
  const Liveness liveness = liveness_of();
  const std::uint64_t challenge = liveness.challenge(kNow, kPeer, 0);
  EXPECT_EQ(liveness.judge(kNow + 65'536 * 30s, kPeer, 0, challenge), Response::foreign);
}

// With 240 s between two exchanges (profile classic), 60 s of silence are ordinary.
TEST(Liveness, APeriodHasThreeExchanges) {
  EXPECT_EQ(liveness_of(240s).period(), 720s);
  EXPECT_EQ(liveness_of(0s).period(), 60s);
}

TEST(Liveness, OneQuestionHasOneAnswer) {
  Liveness liveness = liveness_of();
  EXPECT_FALSE(liveness.take_answer(kNow, kPeer, 0)) << "not asked";
  EXPECT_TRUE(liveness.ask(kNow, kPeer, 0));
  EXPECT_FALSE(liveness.ask(kNow + 5ms, kPeer, 0)) << "asked just now";
  EXPECT_TRUE(liveness.ask(kNow + 5ms, kPeer, 1)) << "its address there is not known";
  EXPECT_TRUE(liveness.ask(kNow + 10ms, kPeer, 0)) << "the question may be lost";
  EXPECT_TRUE(liveness.take_answer(kNow + 11ms, kPeer, 0));
  EXPECT_FALSE(liveness.take_answer(kNow + 11ms, kPeer, 0));
  EXPECT_FALSE(liveness.take_answer(kNow + 10s, kPeer, 1)) << "too late";
}

// Recordings of many hosts that are gone, at once: neither memory nor datagrams without bound.
TEST(Liveness, QuestionsAndHeldDatagramsAreBounded) {
  Liveness liveness = liveness_of();
  std::size_t asked = 0;
  std::size_t held = 0;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    const Process process{.host = HostId{i}};
    asked += liveness.ask(kNow, process, 0) ? 1U : 0U;
    for (int copy = 0; copy < 10; ++copy) liveness.hold(process, {.since = kNow});
  }
  EXPECT_EQ(asked, Liveness::kMaxAsked);
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    const std::size_t of_one = liveness.release(kNow, {.host = HostId{i}}, 0).size();
    EXPECT_LE(of_one, Liveness::kMaxHeldOfOne);
    held += of_one;
  }
  EXPECT_EQ(held, Liveness::kMaxHeld);
  // In the next second, there is space for a newcomer.
  EXPECT_TRUE(liveness.ask(kNow + 3s, kPeer, 0));
}

TEST(Liveness, HellosPerSecondAreBounded) {
  Liveness liveness = liveness_of();
  std::uint32_t answered = 0;
  while (answered <= Liveness::kMaxHellos && liveness.answer(kNow)) ++answered;
  EXPECT_EQ(answered, Liveness::kMaxHellos);
  EXPECT_TRUE(liveness.ask(kNow, kPeer, 0)) << "recorded questions prevent no question";
  EXPECT_TRUE(liveness.answer(kNow + 1s));
}

TEST(Liveness, AnUnansweredQuestionIsForgottenWithItsDatagrams) {
  Liveness liveness = liveness_of();
  EXPECT_TRUE(liveness.ask(kNow, kPeer, 0));
  liveness.hold(kPeer, {.since = kNow});
  EXPECT_TRUE(liveness.ask(kNow + 2s, {.host = HostId{9}}, 0));
  EXPECT_TRUE(liveness.release(kNow + 2s, kPeer, 0).empty());
  EXPECT_TRUE(liveness.ask(kNow + 3s, kPeer, 0));
  liveness.hold(kPeer, {.since = kNow + 3s});
  EXPECT_EQ(liveness.release(kNow + 3s, kPeer, 0).size(), 1U);
}

}  // namespace
}  // namespace tempo::wire
