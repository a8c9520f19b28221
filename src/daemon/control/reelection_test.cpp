#include "daemon/control/reelection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using wire::DiagnosticBody;
using What = ReelectRequest::Outcome::What;

constexpr Instant kStart{100s};
constexpr ReelectRequest::Master kNode1{
    .network = 1, .node = NodeId{7}, .host = HostId{0x77}, .round = 4};

DiagnosticBody answer_to(std::uint32_t question, std::uint8_t level = DiagnosticBody::kHonoured,
                         std::string_view text = "") {
  return {.kind = DiagnosticBody::Kind::reelect_answer,
          .level = level,
          .question = question,
          .text = wire::Text<DiagnosticBody::kMaxText>(text)};
}

TEST(ReelectRequest, EndsWithTheAnswerOfTheMaster) {
  ReelectRequest request;
  EXPECT_EQ(request.next(), kNever);
  const std::uint32_t number = request.ask(kStart, kNode1);
  EXPECT_NE(number, 0U);
  EXPECT_EQ(request.next(), kStart);
  const auto sent = request.take_due(kStart);
  ASSERT_TRUE(sent);
  EXPECT_EQ(*sent, (DiagnosticBody{.kind = DiagnosticBody::Kind::reelect,
                                   .question = number,
                                   .target = kNode1.host,
                                   .round = 4}));
  EXPECT_FALSE(request.outcome(number));
  request.receive(kNode1.node, answer_to(number));
  ASSERT_TRUE(request.outcome(number));
  EXPECT_EQ(request.outcome(number)->what, What::honoured);
  EXPECT_EQ(request.outcome(number)->master.network, kNode1.network);
  EXPECT_EQ(request.next(), kNever);
  EXPECT_FALSE(request.take_due(kStart + 1s)) << "it is not sent again";
}

// A client that was gone did not keep tempod from asking the master twice more.
TEST(ReelectRequest, EndsWhenItsLastClientIsGone) {
  ReelectRequest request;
  const std::uint32_t number = request.ask(kStart, kNode1);
  ASSERT_TRUE(request.take_due(kStart));
  EXPECT_EQ(request.ask(kStart, kNode1), number) << "two clients share it";
  request.withdraw(number);
  EXPECT_NE(request.next(), kNever);
  request.withdraw(number);
  EXPECT_EQ(request.next(), kNever);
  EXPECT_FALSE(request.take_due(kStart + 1s));
  EXPECT_EQ(request.outcome(number)->what, What::no_answer);
  const std::uint32_t next = request.ask(kStart + 1s, kNode1);
  request.withdraw(number);
  EXPECT_TRUE(request.take_due(kStart + 1s)) << "withdrawing an old request does not end a new one";
  EXPECT_NE(next, number);
}

TEST(ReelectRequest, KeepsTheReasonOfARefusal) {
  ReelectRequest request;
  const std::uint32_t number = request.ask(kStart, kNode1);
  request.take_due(kStart);
  request.receive(kNode1.node, answer_to(number, DiagnosticBody::kRefused, "not now"));
  EXPECT_EQ(request.outcome(number)->what, What::refused);
  EXPECT_EQ(request.outcome(number)->reason, "not now");
}

TEST(ReelectRequest, IsBounded) {
  ReelectRequest request;
  const std::uint32_t number = request.ask(kStart, kNode1);
  int sends = 0;
  Instant now = kStart;
  for (int i = 0; i < 100 && request.next() != kNever; ++i) {
    now = request.next();
    EXPECT_FALSE(request.take_due(now - 1ns)) << "it is not due yet";
    sends += request.take_due(now) ? 1 : 0;
  }
  EXPECT_EQ(sends, ReelectRequest::kMaxSends);
  EXPECT_EQ(now, kStart + 3s);
  ASSERT_TRUE(request.outcome(number));
  EXPECT_EQ(request.outcome(number)->what, What::no_answer);
}

TEST(ReelectRequest, IgnoresOtherAnswers) {
  ReelectRequest request;
  request.receive(kNode1.node, answer_to(0));
  const std::uint32_t number = request.ask(kStart, kNode1);
  request.take_due(kStart);
  request.receive(NodeId{8}, answer_to(number));
  request.receive(kNode1.node, answer_to(number + 1));
  request.receive(kNode1.node, {.kind = DiagnosticBody::Kind::answer, .question = number});
  request.receive(kNode1.node, {.kind = DiagnosticBody::Kind::reelect, .question = number});
  EXPECT_FALSE(request.outcome(number));
}

TEST(ReelectRequest, SharesTheOneInProgress) {
  ReelectRequest request;
  const std::uint32_t first = request.ask(kStart, kNode1);
  request.take_due(kStart);
  const ReelectRequest::Master other{.network = 0, .node = NodeId{8}, .host = HostId{0x88}};
  EXPECT_EQ(request.ask(kStart + 500ms, other), first);
  EXPECT_EQ(request.master().node, kNode1.node);
  EXPECT_EQ(request.next(), kStart + 1s);
  request.receive(kNode1.node, answer_to(first));
  const std::uint32_t second = request.ask(kStart + 600ms, other);
  EXPECT_NE(second, first);
  EXPECT_TRUE(request.outcome(first)) << "its client has not read it yet";
  EXPECT_FALSE(request.outcome(second));
  request.take_due(kStart + 600ms);
  request.receive(other.node, answer_to(first));
  EXPECT_FALSE(request.outcome(second)) << "the answer is to the first request";
}

constexpr ReelectLimiter::Asker kAsker{
    .host = NodeId{3}, .incarnation = Incarnation{5}, .question = 1};

TEST(ReelectLimiter, HonoursOneRequestPerTenSeconds) {
  ReelectLimiter limiter;
  auto verdict = limiter.judge(kStart, kAsker, true);
  EXPECT_TRUE(verdict.resign);
  EXPECT_EQ(verdict.answer, answer_to(1));
  ReelectLimiter::Asker other = kAsker;
  other.host = NodeId{4};
  other.question = 9;
  verdict = limiter.judge(kStart + 3500ms, other, true);
  EXPECT_FALSE(verdict.resign);
  EXPECT_EQ(verdict.answer,
            answer_to(9, DiagnosticBody::kRefused,
                      "it resigned 3s ago at the request of another machine; try again in 7s"));
  EXPECT_FALSE(limiter.judge(kStart + 10s - 1ns, other, true).resign);
  EXPECT_TRUE(limiter.judge(kStart + 10s, other, true).resign);
  EXPECT_EQ(limiter.honoured(), 2U);
  EXPECT_EQ(limiter.refused(), 2U);
}

// The answer may be lost: the host is no longer master when the request comes again.
TEST(ReelectLimiter, RepeatsItsAnswer) {
  ReelectLimiter limiter;
  limiter.judge(kStart, kAsker, true);
  for (const Nanos later : {Nanos{1s}, Nanos{60s}})
    for (const bool leads : {false, true}) {
      const auto verdict = limiter.judge(kStart + later, kAsker, leads);
      EXPECT_FALSE(verdict.resign);
      EXPECT_EQ(verdict.answer, answer_to(1));
    }
  EXPECT_EQ(limiter.honoured(), 1U);
  EXPECT_EQ(limiter.refused(), 0U);
  ReelectLimiter::Asker restarted = kAsker;
  restarted.incarnation = Incarnation{6};
  EXPECT_TRUE(limiter.judge(kStart + 60s, restarted, true).resign)
      << "a restarted daemon counts from 1 again";
}

TEST(ReelectLimiter, RefusesWhenItDoesNotLead) {
  ReelectLimiter limiter;
  const auto verdict = limiter.judge(kStart, kAsker, false);
  EXPECT_FALSE(verdict.resign);
  EXPECT_EQ(verdict.answer,
            answer_to(1, DiagnosticBody::kRefused, "its mastership has ended; try again"));
  EXPECT_TRUE(limiter.judge(kStart, kAsker, true).resign);
}

}  // namespace
}  // namespace tempo::daemon
