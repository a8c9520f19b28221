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

struct Letter {
  Sequence sequence = kNoSequence;
  std::uint32_t content = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("sequence", self.sequence);
    visit("content", self.content);
  }
};

using Post = Courier<Letter>;

constexpr Instant at(Nanos span) { return Instant{span}; }
constexpr Post::Options kOptions{.interval = 1s, .sends = 4};
constexpr NodeId kAnn{1};
constexpr NodeId kBob{2};
constexpr Incarnation kLife{77};

Sequence post(Post& courier, Instant now, NodeId to, std::uint32_t content = 0) {
  const Sequence sequence = courier.next_sequence();
  courier.post(now, to, {.sequence = sequence, .content = content}, kOptions);
  return sequence;
}

// What a wake hands out, as text: "again 1/3" is letter 3 to node 1 once more.
std::vector<std::string> on_timer(Post& courier, Instant now) {
  std::vector<std::string> handed;
  const auto note = [&](const char* what) {
    return [&handed, what](NodeId to, const Letter& letter) {
      handed.push_back(
          fmt::format("{} {}/{}", what, index(to), std::to_underlying(letter.sequence)));
    };
  };
  courier.on_timer(now, kOptions, note("again"), note("give up"));
  return handed;
}

TEST(Courier, CountsFromOne) {
  Post courier;
  EXPECT_EQ(courier.next_sequence(), Sequence{1});
  EXPECT_EQ(courier.next_sequence(), Sequence{2});
}

TEST(Courier, HasNothingDueWhileNothingIsUnderWay) {
  Post courier;
  EXPECT_EQ(courier.due(), kNever);
  EXPECT_THAT(on_timer(courier, at(100s)), IsEmpty());
}

TEST(Courier, SendsAgainAtDoublingIntervalsAndThenGivesUp) {
  Post courier;
  post(courier, at(10s), kAnn);
  EXPECT_EQ(courier.due(), at(11s));
  EXPECT_THAT(on_timer(courier, at(11s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(13s));
  EXPECT_THAT(on_timer(courier, at(13s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(17s));
  EXPECT_THAT(on_timer(courier, at(17s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(25s));
  EXPECT_THAT(on_timer(courier, at(25s)), ElementsAre("give up 1/1"));
  EXPECT_EQ(courier.due(), kNever);
  EXPECT_THAT(on_timer(courier, at(1000s)), IsEmpty());
}

TEST(Courier, DoesNothingWhenWokenEarly) {
  Post courier;
  post(courier, at(0s), kAnn);
  EXPECT_THAT(on_timer(courier, at(1s) - 1ns), IsEmpty());
  EXPECT_EQ(courier.due(), at(1s));
}

// A driver that was asleep does not make up for missed sends: the next interval starts now.
TEST(Courier, CountsTheNextIntervalFromALateWake) {
  Post courier;
  post(courier, at(0s), kAnn);
  EXPECT_THAT(on_timer(courier, at(50s)), ElementsAre("again 1/1"));
  EXPECT_EQ(courier.due(), at(52s));
}

TEST(Courier, StopsWhenItIsAcknowledged) {
  Post courier;
  const Sequence first = post(courier, at(0s), kAnn, 5);
  const Sequence second = post(courier, at(0s) + 500ms, kBob, 6);
  const Letter* letter = courier.acknowledge(kAnn, first);
  ASSERT_NE(letter, nullptr);
  EXPECT_EQ(letter->content, 5U);
  EXPECT_EQ(courier.due(), at(1500ms));
  EXPECT_THAT(on_timer(courier, at(2s)), ElementsAre("again 2/2"));
  EXPECT_NE(courier.acknowledge(kBob, second), nullptr);
  EXPECT_EQ(courier.due(), kNever);
}

TEST(Courier, TakesEachAcknowledgementOnceAndFromTheRightNode) {
  Post courier;
  const Sequence sequence = post(courier, at(0s), kAnn);
  EXPECT_EQ(courier.acknowledge(kBob, sequence), nullptr);
  EXPECT_EQ(courier.acknowledge(kAnn, Sequence{99}), nullptr);
  EXPECT_EQ(courier.acknowledge(kAnn, kNoSequence), nullptr);
  EXPECT_NE(courier.acknowledge(kAnn, sequence), nullptr);
  EXPECT_EQ(courier.acknowledge(kAnn, sequence), nullptr);
}

// Numbers that were used for other things leave gaps between those of parcels.
TEST(Courier, FindsWhatIsAcknowledgedAcrossGapsInTheNumbers) {
  Post courier;
  std::vector<Sequence> posted;
  for (std::uint32_t i = 0; i < 40; ++i) {
    for (std::uint32_t gap = 0; gap < i % 3; ++gap) courier.next_sequence();
    posted.push_back(post(courier, at(0s), kAnn, i));
  }
  const std::uint32_t last = std::to_underlying(posted.back());
  std::uint32_t found = 0;
  for (std::uint32_t number = 0; number <= last + 1; ++number) {
    const Letter* const letter = courier.acknowledge(kAnn, Sequence{number});
    const bool was_posted = std::ranges::find(posted, Sequence{number}) != posted.end();
    ASSERT_EQ(letter != nullptr, was_posted) << number;
    if (letter != nullptr) {
      EXPECT_EQ(letter->content, found++);
    }
  }
}

TEST(Courier, TakesNoAcknowledgementOfWhatItHasGivenUp) {
  Post courier;
  const Sequence sequence = post(courier, at(0s), kAnn);
  for (const Nanos when : {1s, 3s, 7s, 15s}) on_timer(courier, at(when));
  EXPECT_EQ(courier.acknowledge(kAnn, sequence), nullptr);
}

TEST(Courier, WithdrawsWhatIsNoLongerWanted) {
  Post courier;
  post(courier, at(0s), kAnn, 1);
  const Sequence unwanted = post(courier, at(0s), kAnn, 2);
  post(courier, at(0s), kBob, 2);
  courier.withdraw(
      [](NodeId to, const Letter& letter) { return to == kAnn && letter.content == 2; });
  EXPECT_EQ(courier.acknowledge(kAnn, unwanted), nullptr);
  EXPECT_THAT(on_timer(courier, at(1s)), ElementsAre("again 1/1", "again 2/3"));
  courier.withdraw([](NodeId, const Letter&) { return true; });
  EXPECT_EQ(courier.due(), kNever);
}

TEST(Courier, KnowsWhatIsUnderWay) {
  Post courier;
  const Sequence first = post(courier, at(0s), kAnn, 1);
  post(courier, at(0s), kAnn, 2);
  const auto content = [](std::uint32_t wanted) {
    return [wanted](const Letter& letter) { return letter.content == wanted; };
  };
  const Letter* letter = courier.under_way(kAnn, content(2));
  ASSERT_NE(letter, nullptr);
  EXPECT_EQ(letter->sequence, Sequence{2});
  EXPECT_EQ(courier.under_way(kBob, content(2)), nullptr);
  EXPECT_EQ(courier.under_way(kAnn, content(3)), nullptr);
  courier.acknowledge(kAnn, first);
  EXPECT_EQ(courier.under_way(kAnn, content(1)), nullptr);
}

TEST(Courier, ShowsEverythingUnderWay) {
  Post courier;
  post(courier, at(0s), kAnn, 1);
  const Sequence second = post(courier, at(0s), kBob, 2);
  post(courier, at(0s), kBob, 3);
  courier.acknowledge(kBob, second);
  std::vector<std::pair<NodeId, std::uint32_t>> shown;
  courier.each([&](NodeId to, const Letter& letter) { shown.emplace_back(to, letter.content); });
  EXPECT_THAT(shown, ElementsAre(std::pair{kAnn, 1U}, std::pair{kBob, 3U}));
}

TEST(Courier, SaysWhetherAMessageIsNew) {
  Post courier;
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{1}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{1}));
  EXPECT_TRUE(courier.fresh(kBob, kLife, Sequence{1}));
}

TEST(Courier, RecognisesCopiesThatComeOutOfOrder) {
  Post courier;
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{5}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{3}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{4}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{3}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{6}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{4}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{5}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{6}));
}

TEST(Courier, TakesWhatIsOlderThanItsWindowForACopy) {
  Post courier;
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{100}));
  EXPECT_TRUE(
      courier.fresh(kAnn, kLife, Sequence{37}));  // 63 before the newest: still in the window
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{36}));  // 64 before it: outside
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{38}));
}

TEST(Courier, ForgetsTheWindowWhenTheNumbersLeap) {
  Post courier;
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{1}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{64}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{1}));  // 63 before the newest, and remembered
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{128}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{64}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{65}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{0xffffffff}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{0xffffffff}));
}

TEST(Courier, DoesNotMistakeANewLifeForTheOldOne) {
  Post courier;
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{1}));
  EXPECT_TRUE(courier.newer_call(kAnn, kLife, Sequence{9}));
  EXPECT_TRUE(courier.fresh(kAnn, Incarnation{78}, Sequence{1}));
  EXPECT_TRUE(courier.newer_call(kAnn, Incarnation{78}, Sequence{2}));
  EXPECT_FALSE(courier.fresh(kAnn, Incarnation{78}, Sequence{1}));
}

// Incarnations have no order: which life ended is known by which goes on.
TEST(Courier, TakesNoLateMessageOfAnEndedLifeForALaterOne) {
  const Incarnation later{78};
  Post courier;
  EXPECT_TRUE(courier.newer_call(kAnn, later, Sequence{1}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{4}));  // late, and the first that is heard of it
  EXPECT_TRUE(courier.fresh(kAnn, later, Sequence{2}));
  EXPECT_FALSE(courier.fresh(kAnn, later, Sequence{2}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{4}));
  EXPECT_FALSE(courier.fresh(kAnn, kLife, Sequence{3}));  // of a life that has ended: old
  EXPECT_TRUE(courier.newer_call(kAnn, later, Sequence{3}));
  EXPECT_TRUE(courier.newer_call(kAnn, kLife, Sequence{9}));
  EXPECT_FALSE(courier.newer_call(kAnn, later, Sequence{3}));
  EXPECT_TRUE(courier.newer_call(kAnn, later, Sequence{4}));
}

TEST(Courier, CountsOnlyTheNewestCall) {
  Post courier;
  EXPECT_TRUE(courier.newer_call(kAnn, kLife, Sequence{3}));
  EXPECT_FALSE(courier.newer_call(kAnn, kLife, Sequence{3}));
  EXPECT_FALSE(courier.newer_call(kAnn, kLife, Sequence{2}));
  EXPECT_TRUE(courier.newer_call(kAnn, kLife, Sequence{4}));
  EXPECT_TRUE(courier.newer_call(kBob, kLife, Sequence{1}));
  // A call is not a message received: its number may still come as one.
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{4}));
}

Post busy() {
  Post courier;
  const Sequence first = post(courier, at(0s), kAnn, 1);
  post(courier, at(0s), kBob, 2);
  post(courier, at(0s), kAnn, 3);
  courier.acknowledge(kAnn, first);
  courier.fresh(kAnn, Incarnation{78}, Sequence{3});
  courier.fresh(kAnn, kLife, Sequence{4});
  courier.newer_call(kBob, kLife, Sequence{2});
  return courier;
}

TEST(Courier, NoticesAWriteIntoEveryField) {
  const Writes writes = write_into_every_field(busy(), at(0s));
  EXPECT_THAT(writes.unnoticed, IsEmpty());
  // The last sequence number; the parcels, the lives, the life before, of five leaves each.
  EXPECT_EQ(writes.tried, 1U + (1 + 2 * 5) + (1 + 2 * 5) + (1 + 1 * 5));
  // What is not listed is `due`, which follows from the parcels.
  EXPECT_EQ(unlisted_bytes(busy()), sizeof(Instant));
}

TEST(Courier, PacksWhatIsUnderWayWhateverCameBefore) {
  Post direct;
  direct.next_sequence();
  post(direct, at(0s), kAnn, 7);

  Post winding;
  const Sequence first = post(winding, at(0s), kBob, 1);
  post(winding, at(0s), kAnn, 7);
  EXPECT_NE(packed(direct, at(0s)), packed(winding, at(0s)));
  winding.acknowledge(kBob, first);
  EXPECT_EQ(packed(direct, at(0s)), packed(winding, at(0s)));
}

TEST(Courier, KeepsItsDueTimeWhenItsFieldsAreRewritten) {
  Post courier = busy();
  const std::vector<NodeId> swap{node_at(0), kBob, kAnn};
  Renamer renamer{swap};
  Post::fields(courier, renamer);
  EXPECT_EQ(courier.due(), at(1s));
  EXPECT_THAT(on_timer(courier, at(1s)), ElementsAre("again 1/2", "again 2/3"));
  // Who was known as one is known as the other.
  EXPECT_FALSE(courier.fresh(kBob, kLife, Sequence{4}));
  EXPECT_TRUE(courier.fresh(kAnn, kLife, Sequence{4}));
}

// Brings every deadline forward by half a second.
class Hurry : public FieldWalk<Hurry> {
 public:
  template <class T>
  void leaf(const char* /*name*/, T& value) {
    if constexpr (std::same_as<T, Instant>) value -= 500ms;
  }
};

TEST(Courier, IsDueWhenItsRewrittenParcelsAre) {
  Post courier = busy();
  Hurry hurry;
  Post::fields(courier, hurry);
  EXPECT_EQ(courier.due(), at(500ms));
}

// With many parcels under way `due` may lag behind, but not for ever.
TEST(Courier, HasNothingDueWhenTheLastOfManyIsAcknowledged) {
  Post courier;
  for (int i = 0; i < 40; ++i) post(courier, at(Nanos{i}), kAnn);
  for (std::uint32_t i = 1; i <= 40; ++i) {
    EXPECT_LE(courier.due(), at(1s + Nanos{i - 1}));
    ASSERT_NE(courier.acknowledge(kAnn, Sequence{i}), nullptr);
  }
  EXPECT_EQ(courier.due(), kNever);
}

TEST(CourierDeathTest, HoldsABoundedNumberOfParcels) {
  Post courier;
  for (std::uint32_t i = 0; i < 2 * kMaxNodes; ++i)
    courier.post(at(0s), kAnn, {.sequence = courier.next_sequence()}, kOptions);
  EXPECT_DEATH(courier.post(at(0s), kAnn, {}, kOptions), "kMostParcels");
}

}  // namespace
}  // namespace tempo
