#include "daemon/control/remote_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kNow{5s};
constexpr NodeId kOther{7};
const std::vector<ipc::Finding> kTwo{{.level = "problem",
                                      .what = "the disk is full",
                                      .cure = "free some space",
                                      .code = "T033",
                                      .evidence = "0 bytes left"},
                                     {.level = "note", .what = "the load is high", .cure = ""}};

TEST(RemoteDiagnosis, CollectsEveryFinding) {
  RemoteDiagnosis asking;
  RemoteDiagnosis asked;
  const auto question = asking.ask(kNow);
  ASSERT_TRUE(question);
  EXPECT_FALSE(asking.of(kOther));
  for (const wire::DiagnosticBody& body : asked.answer(kNow, *question, kTwo)) {
    EXPECT_FALSE(asking.over(kNow, 1));
    asking.receive(kOther, body);
  }
  EXPECT_TRUE(asking.over(kNow, 1));
  EXPECT_FALSE(asking.over(kNow, 2)) << "another host has not answered";
  EXPECT_TRUE(asking.over(kNow + 1s, 2)) << "the time is up";
  ASSERT_TRUE(asking.of(kOther));
  EXPECT_EQ(asking.of(kOther)->findings, kTwo);
  EXPECT_EQ(asking.of(kOther)->missing, 0U);
}

TEST(RemoteDiagnosis, AcceptsAnEmptyAnswer) {
  RemoteDiagnosis asking;
  RemoteDiagnosis asked;
  const auto bodies = asked.answer(kNow, *asking.ask(kNow), {});
  ASSERT_EQ(bodies.size(), 1U);
  asking.receive(kOther, bodies.front());
  EXPECT_TRUE(asking.over(kNow, 1));
  EXPECT_THAT(asking.of(kOther)->findings, IsEmpty());
}

TEST(RemoteDiagnosis, ReportsMissingParts) {
  RemoteDiagnosis asking;
  RemoteDiagnosis asked;
  const auto bodies = asked.answer(kNow, *asking.ask(kNow), kTwo);
  asking.receive(kOther, bodies.back());
  asking.receive(kOther, bodies.back());
  EXPECT_FALSE(asking.over(kNow, 1));
  EXPECT_EQ(asking.of(kOther)->missing, 1U);
  EXPECT_THAT(asking.of(kOther)->findings, ElementsAre(kTwo[1]));
}

TEST(RemoteDiagnosis, IsBounded) {
  RemoteDiagnosis asked;
  const wire::DiagnosticBody question{.question = 1};
  EXPECT_EQ(asked.answer(kNow, question, std::vector(100, kTwo[0])).size(),
            RemoteDiagnosis::kMaxParts);
  EXPECT_THAT(asked.answer(kNow + 499ms, question, kTwo), IsEmpty()) << "it has answered recently";
  EXPECT_EQ(asked.answer(kNow + 500ms, question, kTwo).size(), 2U);
}

TEST(RemoteDiagnosis, AsksOnceAndIgnoresOtherAnswers) {
  RemoteDiagnosis asking;
  RemoteDiagnosis asked;
  const auto first = asking.ask(kNow);
  EXPECT_FALSE(asking.ask(kNow + 999ms));
  const auto second = asking.ask(kNow + 1s);
  ASSERT_TRUE(second);
  EXPECT_NE(first->question, second->question);
  for (const wire::DiagnosticBody& body : asked.answer(kNow, *first, kTwo))
    asking.receive(kOther, body);
  EXPECT_FALSE(asking.of(kOther)) << "the answer is to another question";
  asking.receive(kOther, *second);
  asking.receive(kOther, {.kind = wire::DiagnosticBody::Kind::answer,
                          .part = 2,
                          .parts = 2,
                          .question = second->question});
  asking.receive(
      kOther,
      {.kind = wire::DiagnosticBody::Kind::answer, .parts = 200, .question = second->question});
  EXPECT_FALSE(asking.of(kOther)) << "the part numbers are invalid";
}

}  // namespace
}  // namespace tempo::daemon
