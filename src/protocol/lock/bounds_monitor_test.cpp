#include "protocol/lock/bounds_monitor.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using ::testing::HasSubstr;

constexpr BoundsMonitor::Rules kRules{.interval = 20ms, .delay_max = 10ms, .clean = 5};

// Three sites that beat in turn; a beat takes 1 ms.
class Band {
 public:
  Band() {
    for (std::uint32_t i = 0; i < 3; ++i)
      sites_.emplace_back(kRules, i, std::vector<std::string>{"a", "b", "c"}, 1);
  }
  BoundsMonitor& operator[](std::size_t i) { return sites_[i]; }

  // One beat of each; `carries` says which come.
  void beat(const std::function<bool(std::uint32_t, std::uint32_t)>& carries = {}) {
    now_ += kRules.interval - 3 * delay_;
    for (std::uint32_t from = 0; from < 3; ++from) {
      const wire::BeatBody body = sites_[from].beat(now_, true);
      now_ += delay_;
      for (std::uint32_t to = 0; to < 3; ++to)
        if (to != from && (!carries || carries(from, to)))
          sites_[to].receive(now_, from, lives_[from], body);
    }
    for (BoundsMonitor& site : sites_) site.look(now_);
  }
  void beats(int count) {
    for (int i = 0; i < count; ++i) beat();
  }
  // A word to all; who hears it?
  void say(std::uint32_t from, const std::vector<std::uint32_t>& heard_by) {
    sites_[from].sent_to_all();
    for (const std::uint32_t to : heard_by) sites_[to].received(now_, from, lives_[from]);
  }
  void be_born(std::uint32_t site) {
    lives_[site] = Incarnation{std::to_underlying(lives_[site]) + 1};
    sites_[site] = BoundsMonitor(kRules, site, {"a", "b", "c"}, 1);
  }
  void delay(Nanos delay) { delay_ = delay; }
  Instant now() const { return now_; }

 private:
  std::vector<BoundsMonitor> sites_;
  std::array<Incarnation, 3> lives_{Incarnation{1}, Incarnation{1}, Incarnation{1}};
  Instant now_{Nanos{1'000'000'000}};
  Nanos delay_ = 1ms;
};

TEST(BoundsMonitor, TrustsAfterSoManyBeats) {
  Band band;
  EXPECT_EQ(band[0].why(), "b has not been heard yet");
  band.beats(2);
  EXPECT_EQ(band[0].why(), "delays are being measured");
  EXPECT_FALSE(band[0].holds());
  band.beats(5);
  EXPECT_TRUE(band[0].holds() && band[1].holds() && band[2].holds());
  EXPECT_EQ(band[0].why(), "");
}

TEST(BoundsMonitor, ASlowRoundTripBreaksThemForAWhile) {
  Band band;
  band.beats(8);
  band.delay(21ms);
  band.beat();
  band.delay(1ms);
  band.beat();
  EXPECT_FALSE(band[0].holds());
  EXPECT_THAT(band[0].why(), HasSubstr("more than two delays of 10ms"));
  band.beats(3);
  EXPECT_FALSE(band[0].holds()) << "not at once";
  band.beats(4);
  EXPECT_TRUE(band[0].holds());
}

TEST(BoundsMonitor, ALostWordBreaksThemAtBothEnds) {
  Band band;
  band.beats(8);
  band.say(0, {2});
  band.beats(3);
  EXPECT_EQ(band[0].why(), "a datagram to b was lost");
  EXPECT_EQ(band[1].why(), "a datagram from a was lost");
  EXPECT_TRUE(band[2].holds());
  band.beats(10);
  EXPECT_TRUE(band[0].holds()) << "what was lost before is not lost again";
  band.say(0, {2});
  band.beats(3);
  EXPECT_FALSE(band[0].holds());
}

TEST(BoundsMonitor, ManyWordsAreNoLoss) {
  Band band;
  for (int i = 0; i < 100; ++i) {
    for (int words = 0; words < i % 7; ++words)
      band.say(static_cast<std::uint32_t>(i % 3), {0, 1, 2});
    band.beat();
  }
  EXPECT_TRUE(band[0].holds()) << band[0].why();
}

TEST(BoundsMonitor, ALostBeatBreaksThem) {
  Band band;
  band.beats(8);
  band.beat([](std::uint32_t from, std::uint32_t to) { return from != 2 || to != 0; });
  band.beat();
  EXPECT_EQ(band[0].why(), "a datagram from c was lost");
  EXPECT_TRUE(band[1].holds());
}

TEST(BoundsMonitor, WhoIsSilentBreaksThem) {
  Band band;
  band.beats(8);
  for (int i = 0; i < 5; ++i)
    band.beat([](std::uint32_t from, std::uint32_t) { return from != 2; });
  EXPECT_TRUE(band[0].holds()) << "for a while silence is nothing";
  for (int i = 0; i < 3; ++i)
    band.beat([](std::uint32_t from, std::uint32_t) { return from != 2; });
  EXPECT_EQ(band[0].why(), "c has not been heard for 120ms");
}

TEST(BoundsMonitor, WhoStartsAnewOrKnowsOtherVotersBreaksThem) {
  Band band;
  band.beats(8);
  band.be_born(1);
  band.beat();
  EXPECT_EQ(band[0].why(), "b has started anew");
  band.beats(10);
  EXPECT_TRUE(band[0].holds());
  band[0].receive(band.now(), 1, Incarnation{2}, wire::BeatBody{.view = 2, .number = 1000});
  EXPECT_EQ(band[0].why(), "b knows of other voters");
}

TEST(BoundsMonitor, OwnPausesBreakThem) {
  Band band;
  band.beats(8);
  band[0].stalled(10ms);
  EXPECT_TRUE(band[0].holds());
  band[0].stalled(11ms);
  EXPECT_EQ(band[0].why(), "this machine stood still for 11ms");
  band.beats(5);
  EXPECT_TRUE(band[0].holds());
}

// Silence is confirmed when everybody has said, later, that the word came and all it said is here.
TEST(BoundsMonitor, ConfirmsWhatHasComeEverywhere) {
  Band band;
  band.beats(8);
  band.say(0, {1, 2});
  const BoundsMonitor::Mark mark = band[0].mark();
  EXPECT_FALSE(band[0].confirmed(mark));
  band.beats(2);
  EXPECT_TRUE(band[0].confirmed(mark));

  band.say(0, {1});
  const BoundsMonitor::Mark lost = band[0].mark();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(band[0].confirmed(lost)) << i;
    band.beat();
  }
  EXPECT_FALSE(band[0].holds());
}

TEST(BoundsMonitor, ConfirmsNothingWhileAnAnswerIsMissing) {
  Band band;
  band.beats(8);
  band.say(0, {1, 2});
  band[1].sent(0);  // it refuses, and that is lost
  const BoundsMonitor::Mark mark = band[0].mark();
  band.beats(4);
  EXPECT_FALSE(band[0].confirmed(mark) && band[0].holds());
  EXPECT_EQ(band[0].why(), "a datagram from b was lost");
}

TEST(BoundsMonitor, IsSupportedByMoreThanHalf) {
  Band band;
  band.beats(2);
  EXPECT_TRUE(band[0].supported(band.now(), 100ms));
  for (int i = 0; i < 10; ++i)
    band.beat([](std::uint32_t from, std::uint32_t to) { return from + to == 1; });
  EXPECT_TRUE(band[0].supported(band.now(), 100ms)) << "a and b";
  for (int i = 0; i < 10; ++i) band.beat([](std::uint32_t, std::uint32_t) { return false; });
  EXPECT_FALSE(band[0].supported(band.now(), 100ms));
}

}  // namespace
}  // namespace tempo::locks
