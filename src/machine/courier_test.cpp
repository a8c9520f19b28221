#include "machine/courier.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "machine/fields.h"

namespace tempo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Message {
  Sequence sequence = kNoSequence;
  std::uint32_t content = 0;

  static constexpr auto fields(auto list) {
    return list(field<&Message::sequence>("sequence"), field<&Message::content>("content"));
  }
};

using TestCourier = Courier<Message>;

constexpr Instant at(Nanos span) { return Instant{span}; }
constexpr TestCourier::Options kOptions{.interval = 1s, .sends = 4};
constexpr NodeId kAnn{1};
constexpr NodeId kBob{2};
constexpr Incarnation kIncarnation{77};

Sequence post(TestCourier& courier, Instant now, NodeId to, std::uint32_t content = 0) {
  const Sequence sequence = courier.next_sequence();
  courier.post(now, to, {.sequence = sequence, .content = content}, kOptions);
  return sequence;
}

// Runs on_timer and returns its callbacks as text: "again 1/3" sends message 3 to node 1 again.
std::vector<std::string> run_timer(TestCourier& courier, Instant now) {
  std::vector<std::string> callbacks;
  const auto record = [&](const char* what) {
    return [&callbacks, what](NodeId to, const Message& message) {
      callbacks.push_back(
          fmt::format("{} {}/{}", what, index(to), std::to_underlying(message.sequence)));
    };
  };
  courier.on_timer(now, kOptions, record("again"), record("give up"));
  return callbacks;
}

TEST(Courier, CountsFromOne) {
  TestCourier courier;
  EXPECT_EQ(courier.next_sequence(), Sequence{1});
  EXPECT_EQ(courier.next_sequence(), Sequence{2});
}

TEST(Courier, IsNeverDueWithoutParcels) {
  TestCourier courier;
  EXPECT_EQ(courier.due(), kNever);
  EXPECT_THAT(run_timer(courier, at(100s)), IsEmpty());
}

TEST(Courier, RetransmitsAtDoublingIntervalsThenGivesUp) {
  TestCourier courier;
  post(courier, at(10s), kAnn);
  EXPECT_EQ(courier.due(), at(11s));
  EXPECT_THAT(run_timer(courier, at(11s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(13s));
  EXPECT_THAT(run_timer(courier, at(13s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(17s));
  EXPECT_THAT(run_timer(courier, at(17s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(25s));
  EXPECT_THAT(run_timer(courier, at(25s)), ElementsAre("give up 1/1"));
  EXPECT_EQ(courier.due(), kNever);
  EXPECT_THAT(run_timer(courier, at(1000s)), IsEmpty());
}

TEST(Courier, DoesNothingBeforeTheDeadline) {
  TestCourier courier;
  post(courier, at(0s), kAnn);
  EXPECT_THAT(run_timer(courier, at(1s) - 1ns), IsEmpty());
  EXPECT_EQ(courier.due(), at(1s));
}

// After a late on_timer missed sends are not made up for: the next interval starts now.
TEST(Courier, CountsTheNextIntervalFromALateTimer) {
  TestCourier courier;
  post(courier, at(0s), kAnn);
  EXPECT_THAT(run_timer(courier, at(50s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(52s));
}

TEST(Courier, StopsRetransmissionWhenAcknowledged) {
  TestCourier courier;
  const Sequence first = post(courier, at(0s), kAnn, 5);
  const Sequence second = post(courier, at(0s) + 500ms, kBob, 6);
  const Message* message = courier.acknowledge(kAnn, first);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->content, 5U);
  EXPECT_EQ(courier.due(), at(1500ms));
  EXPECT_THAT(run_timer(courier, at(2s)), ElementsAre("again 2/2"));
  EXPECT_NE(courier.acknowledge(kBob, second), nullptr);
  EXPECT_EQ(courier.due(), kNever);
}

TEST(Courier, AcceptsEachAcknowledgementOnceFromTheReceiver) {
  TestCourier courier;
  const Sequence sequence = post(courier, at(0s), kAnn);
  EXPECT_EQ(courier.acknowledge(kBob, sequence), nullptr);
  EXPECT_EQ(courier.acknowledge(kAnn, Sequence{99}), nullptr);
  EXPECT_EQ(courier.acknowledge(kAnn, kNoSequence), nullptr);
  EXPECT_NE(courier.acknowledge(kAnn, sequence), nullptr);
  EXPECT_EQ(courier.acknowledge(kAnn, sequence), nullptr);
}

// Numbers used for messages that were not posted leave gaps between the parcels.
TEST(Courier, FindsParcelsAcrossGapsInTheNumbers) {
  TestCourier courier;
  std::vector<Sequence> posted;
  for (std::uint32_t i = 0; i < 40; ++i) {
    for (std::uint32_t gap = 0; gap < i % 3; ++gap) courier.next_sequence();
    posted.push_back(post(courier, at(0s), kAnn, i));
  }
  const std::uint32_t last = std::to_underlying(posted.back());
  std::uint32_t found = 0;
  for (std::uint32_t number = 0; number <= last + 1; ++number) {
    const Message* const message = courier.acknowledge(kAnn, Sequence{number});
    const bool was_posted = std::ranges::find(posted, Sequence{number}) != posted.end();
    ASSERT_EQ(message != nullptr, was_posted) << number;
    if (message != nullptr) {
      EXPECT_EQ(message->content, found++);
    }
  }
}

TEST(Courier, IgnoresAcknowledgementsAfterGivingUp) {
  TestCourier courier;
  const Sequence sequence = post(courier, at(0s), kAnn);
  for (const Nanos when : {1s, 3s, 7s, 15s}) run_timer(courier, at(when));
  EXPECT_EQ(courier.acknowledge(kAnn, sequence), nullptr);
}

TEST(Courier, WithdrawsSelectedParcels) {
  TestCourier courier;
  post(courier, at(0s), kAnn, 1);
  const Sequence unwanted = post(courier, at(0s), kAnn, 2);
  post(courier, at(0s), kBob, 2);
  courier.withdraw(
      [](NodeId to, const Message& message) { return to == kAnn && message.content == 2; });
  EXPECT_EQ(courier.acknowledge(kAnn, unwanted), nullptr);
  EXPECT_THAT(run_timer(courier, at(1s)), ElementsAre("again 1/1", "again 2/3"));
  courier.withdraw([](NodeId, const Message&) { return true; });
  EXPECT_EQ(courier.due(), kNever);
}

TEST(Courier, FindsAParcelUnderWay) {
  TestCourier courier;
  const Sequence first = post(courier, at(0s), kAnn, 1);
  post(courier, at(0s), kAnn, 2);
  const auto content = [](std::uint32_t wanted) {
    return [wanted](const Message& message) { return message.content == wanted; };
  };
  const Message* message = courier.under_way(kAnn, content(2));
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->sequence, Sequence{2});
  EXPECT_EQ(courier.under_way(kBob, content(2)), nullptr);
  EXPECT_EQ(courier.under_way(kAnn, content(3)), nullptr);
  courier.acknowledge(kAnn, first);
  EXPECT_EQ(courier.under_way(kAnn, content(1)), nullptr);
}

TEST(Courier, VisitsEveryParcelUnderWay) {
  TestCourier courier;
  post(courier, at(0s), kAnn, 1);
  const Sequence second = post(courier, at(0s), kBob, 2);
  post(courier, at(0s), kBob, 3);
  courier.acknowledge(kBob, second);
  std::vector<std::pair<NodeId, std::uint32_t>> shown;
  courier.each([&](NodeId to, const Message& message) { shown.emplace_back(to, message.content); });
  EXPECT_THAT(shown, ElementsAre(std::pair{kAnn, 1U}, std::pair{kBob, 3U}));
}

TEST(Courier, DetectsDuplicates) {
  TestCourier courier;
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{1}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{1}));
  EXPECT_TRUE(courier.fresh(kBob, kIncarnation, Sequence{1}));
}

TEST(Courier, DetectsDuplicatesOutOfOrder) {
  TestCourier courier;
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{5}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{3}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{4}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{3}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{6}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{4}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{5}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{6}));
}

TEST(Courier, TreatsMessagesBeforeTheWindowAsDuplicates) {
  TestCourier courier;
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{100}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation,
                            Sequence{37}));  // 63 before the newest: still in the window
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{36}));  // 64 before it: outside
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{38}));
}

TEST(Courier, ResetsTheWindowAfterAJump) {
  TestCourier courier;
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{1}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{64}));
  EXPECT_FALSE(
      courier.fresh(kAnn, kIncarnation, Sequence{1}));  // 63 before the newest, still recorded
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{128}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{64}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{65}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{0xffffffff}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{0xffffffff}));
}

TEST(Courier, StartsOverForANewIncarnation) {
  TestCourier courier;
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{1}));
  EXPECT_TRUE(courier.newer_call(kAnn, kIncarnation, Sequence{9}));
  EXPECT_TRUE(courier.fresh(kAnn, Incarnation{78}, Sequence{1}));
  EXPECT_TRUE(courier.newer_call(kAnn, Incarnation{78}, Sequence{2}));
  EXPECT_FALSE(courier.fresh(kAnn, Incarnation{78}, Sequence{1}));
}

// Incarnations have no order: the one whose numbers continue is the current one.
TEST(Courier, IgnoresLateMessagesOfAPreviousIncarnation) {
  const Incarnation later{78};
  TestCourier courier;
  EXPECT_TRUE(courier.newer_call(kAnn, later, Sequence{1}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{4}));  // late, the first from it
  EXPECT_TRUE(courier.fresh(kAnn, later, Sequence{2}));
  EXPECT_FALSE(courier.fresh(kAnn, later, Sequence{2}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{4}));
  EXPECT_FALSE(courier.fresh(kAnn, kIncarnation, Sequence{3}));  // of the previous incarnation
  EXPECT_TRUE(courier.newer_call(kAnn, later, Sequence{3}));
  EXPECT_TRUE(courier.newer_call(kAnn, kIncarnation, Sequence{9}));
  EXPECT_FALSE(courier.newer_call(kAnn, later, Sequence{3}));
  EXPECT_TRUE(courier.newer_call(kAnn, later, Sequence{4}));
}

TEST(Courier, AcceptsOnlyNewerCalls) {
  TestCourier courier;
  EXPECT_TRUE(courier.newer_call(kAnn, kIncarnation, Sequence{3}));
  EXPECT_FALSE(courier.newer_call(kAnn, kIncarnation, Sequence{3}));
  EXPECT_FALSE(courier.newer_call(kAnn, kIncarnation, Sequence{2}));
  EXPECT_TRUE(courier.newer_call(kAnn, kIncarnation, Sequence{4}));
  EXPECT_TRUE(courier.newer_call(kBob, kIncarnation, Sequence{1}));
  // newer_call does not mark the number as received: a message with it is still new.
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{4}));
}

TestCourier busy() {
  TestCourier courier;
  const Sequence first = post(courier, at(0s), kAnn, 1);
  post(courier, at(0s), kBob, 2);
  post(courier, at(0s), kAnn, 3);
  courier.acknowledge(kAnn, first);
  courier.fresh(kAnn, Incarnation{78}, Sequence{3});
  courier.fresh(kAnn, kIncarnation, Sequence{4});
  courier.newer_call(kBob, kIncarnation, Sequence{2});
  return courier;
}

TEST(Courier, NoticesAWriteIntoEveryField) {
  const Writes writes = write_into_every_field(busy(), at(0s));
  EXPECT_THAT(writes.unnoticed, IsEmpty());
  // The last sequence number; then parcels, current and previous incarnations, with five leaves
  // each.
  EXPECT_EQ(writes.tried, 1U + (1 + 2 * 5) + (1 + 2 * 5) + (1 + 1 * 5));
  // Only `due` is not listed: it is derived from the parcels.
}

TEST(Courier, PacksOnlyParcelsUnderWay) {
  TestCourier direct;
  direct.next_sequence();
  post(direct, at(0s), kAnn, 7);

  TestCourier detour;
  const Sequence first = post(detour, at(0s), kBob, 1);
  post(detour, at(0s), kAnn, 7);
  EXPECT_NE(packed(direct, at(0s)), packed(detour, at(0s)));
  detour.acknowledge(kBob, first);
  EXPECT_EQ(packed(direct, at(0s)), packed(detour, at(0s)));
}

TEST(Courier, KeepsItsDueTimeWhenNodesAreRenamed) {
  TestCourier courier = busy();
  const std::vector<NodeId> swap{node_at(0), kBob, kAnn};
  Renamer renamer{swap};
  visit_fields(courier, renamer);
  EXPECT_EQ(courier.due(), at(1s));
  EXPECT_THAT(run_timer(courier, at(1s)), ElementsAre("again 1/2", "again 2/3"));
  // The received messages of the two peers are exchanged.
  EXPECT_FALSE(courier.fresh(kBob, kIncarnation, Sequence{4}));
  EXPECT_TRUE(courier.fresh(kAnn, kIncarnation, Sequence{4}));
}

// Brings every deadline forward by half a second.
class Advance : public FieldWalk<Advance> {
 public:
  template <class T>
  void leaf(const char* /*name*/, T& value) {
    if constexpr (std::same_as<T, Instant>) value -= 500ms;
  }
};

TEST(Courier, RecomputesItsDueTimeAfterAMutableWalk) {
  TestCourier courier = busy();
  Advance advance;
  visit_fields(courier, advance);
  EXPECT_EQ(courier.due(), at(500ms));
}

// With many parcels under way `due` may be too early, but it is kNever after the last.
TEST(Courier, IsNeverDueAfterTheLastAcknowledgement) {
  TestCourier courier;
  for (int i = 0; i < 40; ++i) post(courier, at(Nanos{i}), kAnn);
  for (std::uint32_t i = 1; i <= 40; ++i) {
    EXPECT_LE(courier.due(), at(1s + Nanos{i - 1}));
    ASSERT_NE(courier.acknowledge(kAnn, Sequence{i}), nullptr);
  }
  EXPECT_EQ(courier.due(), kNever);
}

TEST(CourierDeathTest, LimitsTheNumberOfParcels) {
  TestCourier courier;
  for (std::uint32_t i = 0; i < 2 * kMaxNodes; ++i)
    courier.post(at(0s), kAnn, {.sequence = courier.next_sequence()}, kOptions);
  EXPECT_DEATH(courier.post(at(0s), kAnn, {}, kOptions), "kMaxParcels");
}

}  // namespace
}  // namespace tempo
