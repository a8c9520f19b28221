#include "daemon/control/remote_queries.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

constexpr NodeId kAsked{7};
constexpr NodeId kAsking{3};
constexpr Instant kBegin{1000s};

// Two hosts; `lost(n)` says whether the n-th datagram is lost.
class Pair {
 public:
  explicit Pair(Result<std::string> line) : line_(std::move(line)) {}

  std::optional<Result<std::string>> run(auto lost) {
    const auto question = asking.ask(now, kAsked, ipc::Verb::members);
    if (!question) return std::nullopt;
    for (int i = 0; i < 4000; ++i, now += 1ms) {
      for (const auto& [to, body] : asking.due(now)) {
        EXPECT_EQ(to, kAsked);
        if (lost(++sent)) continue;
        for (const wire::DiagnosticBody& answer :
             asked.answer(now, kAsking, body, [&](ipc::Verb verb) {
               EXPECT_EQ(verb, ipc::Verb::members);
               ++made;
               return line_;
             }))
          if (!lost(++sent)) asking.receive(kAsked, answer);
      }
      if (auto result = asking.result(now, *question)) return result;
    }
    return std::nullopt;
  }

  RemoteQueries asking{100};
  RemoteQueries asked{0};
  Instant now = kBegin;
  int sent = 0;
  int made = 0;

 private:
  Result<std::string> line_;
};

std::string long_line(std::size_t bytes) {
  std::string line;
  while (line.size() < bytes) line += static_cast<char>('a' + line.size() % 26);
  return line;
}

TEST(RemoteQueries, CarryALineOfAnyLength) {
  for (const std::size_t bytes : {0U, 1U, 240U, 241U, 3840U, 3841U, 20'000U, 61'200U}) {
    Pair pair(long_line(bytes));
    const auto result = pair.run([](int) { return false; });
    ASSERT_TRUE(result && *result) << bytes;
    EXPECT_EQ(**result, long_line(bytes));
    EXPECT_LT(pair.now - kBegin, 100ms) << "no repetition is necessary";
    EXPECT_EQ(pair.made, 1);
  }
}

TEST(RemoteQueries, LossIsRepairedWithOneLine) {
  Pair pair(long_line(20'000));
  const auto result = pair.run([](int n) { return n % 3 == 0; });
  ASSERT_TRUE(result && *result);
  EXPECT_EQ(**result, long_line(20'000));
  EXPECT_EQ(pair.made, 1) << "all parts are of one line";
}

TEST(RemoteQueries, ARefusalAndSilenceAreSentences) {
  Pair refused(std::unexpected("no key"));
  EXPECT_EQ((*refused.run([](int) { return false; })).error(), "no key");
  Pair silent(long_line(10));
  const auto result = silent.run([](int) { return true; });
  ASSERT_TRUE(result && !*result);
  EXPECT_THAT(result->error(), testing::StartsWith("no answer within 3 s"));
  EXPECT_LE(silent.sent, 31);
  EXPECT_EQ(silent.asking.next(), Instant{kNever}) << "the question is over";
  Pair large(long_line(RemoteQueries::kMaxBytes + 1));
  EXPECT_THAT((*large.run([](int) { return false; })).error(),
              testing::HasSubstr("ask on that machine"));
}

TEST(RemoteQueries, OnlyTheAskedHostAnswers) {
  RemoteQueries asking(0);
  const auto question = asking.ask(kBegin, kAsked, ipc::Verb::now);
  ASSERT_TRUE(question);
  wire::DiagnosticBody body{
      .kind = wire::DiagnosticBody::Kind::query_answer, .parts = 1, .question = *question};
  asking.receive(kAsking, body);
  body.question = *question + 1;
  asking.receive(kAsked, body);
  body.question = *question;
  body.part = 1;
  asking.receive(kAsked, body);
  EXPECT_FALSE(asking.result(kBegin, *question));
  body.part = 0;
  asking.receive(kAsked, body);
  EXPECT_TRUE(asking.result(kBegin, *question));
}

TEST(RemoteQueries, AreBoundedAndReadOnly) {
  RemoteQueries queries(0);
  EXPECT_FALSE(queries.ask(kBegin, kAsked, ipc::Verb::reelect));
  for (std::size_t i = 0; i < RemoteQueries::kMaxOpen; ++i)
    EXPECT_TRUE(queries.ask(kBegin, kAsked, ipc::Verb::status));
  EXPECT_FALSE(queries.ask(kBegin, kAsked, ipc::Verb::status));
  queries.withdraw(1);
  EXPECT_TRUE(queries.ask(kBegin, kAsked, ipc::Verb::status));
  // A host answers one datagram with at most kWindow, and unknown questions with none.
  const auto line = [](ipc::Verb) { return Result<std::string>(long_line(61'200)); };
  wire::DiagnosticBody question{.kind = wire::DiagnosticBody::Kind::query, .question = 1};
  for (std::uint32_t i = 0; i < RemoteQueries::kMaxKept; ++i) {
    question.question = i;
    EXPECT_EQ(queries.answer(kBegin, kAsking, question, line).size(), RemoteQueries::kWindow);
  }
  question.question = 1000;
  EXPECT_TRUE(queries.answer(kBegin, kAsking, question, line).empty()) << "too many lines";
  const Instant later = kBegin + RemoteQueries::kKeep;
  EXPECT_FALSE(queries.answer(later, kAsking, question, line).empty());
  question.question = 1001;
  question.parts = 5;
  EXPECT_TRUE(queries.answer(later, kAsking, question, line).empty());
}

}  // namespace
}  // namespace tempo::daemon
