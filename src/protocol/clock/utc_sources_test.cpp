// Sources of UTC that agree, lie, fall silent and announce leap seconds.
#include "protocol/clock/utc_sources.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::clock {
namespace {

using Source = UtcSources::Source;
using State = UtcSources::State;
using Leap = UtcSources::Leap;

constexpr Nanos kStart = 1'700'000'000s;
constexpr double kRate = 60e-6;  // of UTC over raw time, unknown to the sources

// The true UTC at a raw instant.
Nanos truth(Instant at) {
  const Nanos age = at.time_since_epoch();
  return kStart + age + Nanos{std::llround(static_cast<double>(age.count()) * kRate)};
}
Instant second(double at) { return Instant{Nanos{std::llround(at * 1e9)}}; }

class Sources {
 public:
  explicit Sources(const std::vector<Source>& sources) : sources_(sources) {}
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  // A sample of each source in every second; `wrong`: its error in seconds.
  std::optional<UtcSources::Reading> run(int from, int to,
                                         const std::vector<std::function<double(double)>>& wrong) {
    std::optional<UtcSources::Reading> reading;
    for (int at = from; at < to; ++at) {
      for (std::size_t i = 0; i < wrong.size(); ++i) {
        const Instant when = second(at + 0.01 * static_cast<double>(i));
        sources_.add(i, {.at = when, .utc = truth(when) + Nanos{std::llround(wrong[i](at) * 1e9)}});
      }
      reading = sources_.read(second(at + 0.5));
      if (reading && check) {
        const Nanos off = reading->utc - truth(second(at + 0.5));
        EXPECT_LE(std::chrono::abs(off), reading->bound) << at;
        worst = std::max(worst, std::chrono::abs(off));
      }
    }
    return reading;
  }
  State state(std::size_t source) const { return sources_.state(source); }

  UtcSources sources_;
  bool check = true;  // the truth is inside
  Nanos worst{0};     // largest error of a reading
};

double exact(double /*at*/) { return 0; }

TEST(UtcSources, KnowNothingWithoutASample) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  EXPECT_FALSE(sources.read(second(5)));
  EXPECT_EQ(sources.state(0), State::silent);
}

TEST(UtcSources, TakeASingleSourceWithItsError) {
  Sources sources(std::vector<Source>{{.error = 1e-3}});
  const auto reading = sources.run(0, 20, {exact});
  ASSERT_TRUE(reading);
  EXPECT_LT(sources.worst, 1us);
  EXPECT_GE(reading->bound, 1ms);
  EXPECT_LT(reading->bound, 1ms + 10us);
}

// Jitter widens the claim of the source, and its median is better than a single sample.
TEST(UtcSources, AllowForJitter) {
  Stream chance(1, 2, 3);
  Sources sources(std::vector<Source>{{.error = 10e-6}});
  const auto reading = sources.run(0, 200, {[&](double) { return chance.normal(0, 100e-6); }});
  ASSERT_TRUE(reading);
  EXPECT_GT(reading->bound, 60us);
  EXPECT_LT(reading->bound, 2ms);
}

TEST(UtcSources, CountAfterEightSamples) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  for (int at = 0; at < 7; ++at) {
    sources.add(0, {.at = second(at), .utc = truth(second(at))});
    EXPECT_FALSE(sources.read(second(at)));
  }
  sources.add(0, {.at = second(7), .utc = truth(second(7))});
  EXPECT_TRUE(sources.read(second(7)));
  EXPECT_EQ(sources.state(0), State::used);
}

// A burst of samples gives no rate.
TEST(UtcSources, DoNotCountABurst) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  for (int at = 0; at < 20; ++at)
    sources.add(0, {.at = second(at * 0.1), .utc = truth(second(at * 0.1))});
  EXPECT_FALSE(sources.read(second(2)));
}

// By a millionth of the time since the middle of the samples, as nothing scatters.
TEST(UtcSources, WidenWithTheAgeOfTheSamples) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  for (int at = 0; at < 8; ++at) sources.add(0, {.at = second(at), .utc = truth(second(at))});
  const auto reading = sources.read(second(63.5));
  ASSERT_TRUE(reading);
  EXPECT_NEAR(static_cast<double>(reading->bound.count()), 1e6 + 60e3, 200);
  EXPECT_LE(std::chrono::abs(reading->utc - truth(second(63.5))), 1us);
  EXPECT_TRUE(sources.read(second(71)));
  EXPECT_FALSE(sources.read(second(71.1)));
  EXPECT_EQ(sources.state(0), State::silent);
}

// A source whose samples are each within 5 ms.
TEST(UtcSources, AddTheErrorsOfSamples) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  for (int at = 0; at < 8; ++at)
    sources.add(0, {.at = second(at), .utc = truth(second(at)), .error = 5e-3});
  EXPECT_GE(sources.read(second(7))->bound, 6ms);
}

// One liar of three: constant, drifting, jumping. UTC moves by less than the spread of the honest
// ones, and the liar is named.
TEST(UtcSources, OutvoteALiar) {
  const auto early = [](double) { return -150e-6; };
  const auto late = [](double) { return 150e-6; };
  const std::vector<std::function<double(double)>> liars{
      [](double) { return 5e-3; },
      [](double at) { return at * 50e-6; },
      [](double at) { return at < 60 ? 0 : -0.2; },
      [](double at) { return at < 60 ? 0 : 3600.0; },
  };
  for (std::size_t i = 0; i < liars.size(); ++i) {
    Sources sources(std::vector<Source>{{.error = 200e-6}, {.error = 200e-6}, {.error = 200e-6}});
    const auto reading = sources.run(0, 200, {early, late, liars[i]});
    ASSERT_TRUE(reading) << i;
    EXPECT_LT(sources.worst, 300us) << i;
    EXPECT_EQ(sources.state(0), State::used) << i;
    EXPECT_EQ(sources.state(1), State::used) << i;
    EXPECT_EQ(sources.state(2), State::outvoted) << i;
  }
}

// Two that disagree have no majority: nobody decides, unless one has a higher priority.
TEST(UtcSources, DecideByPriorityWithoutAMajority) {
  const auto wrong = [](double) { return 1.0; };
  Sources equal(
      std::vector<Source>{{.error = 1e-3, .priority = 5}, {.error = 1e-3, .priority = 5}});
  EXPECT_FALSE(equal.run(0, 20, {exact, wrong}));
  EXPECT_EQ(equal.state(0), State::outvoted);
  Sources ranked(
      std::vector<Source>{{.error = 1e-3, .priority = 5}, {.error = 1e-3, .priority = 4}});
  EXPECT_TRUE(ranked.run(0, 20, {exact, wrong}));
  EXPECT_EQ(ranked.state(0), State::used);
  EXPECT_EQ(ranked.state(1), State::outvoted);
  EXPECT_NEAR(ranked.sources_.deviation(1), 1.0, 1e-3);
}

// A majority wins against any priority: a preferred source that lies alone is the liar.
TEST(UtcSources, DoNotLetPriorityOverruleAMajority) {
  const auto wrong = [](double) { return 1.0; };
  Sources sources(
      std::vector<Source>{{.error = 1e-3, .priority = 9}, {.error = 1e-3}, {.error = 1e-3}});
  ASSERT_TRUE(sources.run(0, 20, {wrong, exact, exact}));
  EXPECT_EQ(sources.state(0), State::outvoted);
  EXPECT_LT(sources.worst, 1ms);
}

// --- leap seconds ---

TEST(UtcSources, SpreadAnAnnouncedLeapSecond) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  const auto give = [&](int at, Nanos step, Leap leap) {
    sources.add(0, {.at = second(at), .utc = truth(second(at)) + step, .leap = leap});
    const auto reading = sources.read(second(at));
    return reading ? reading->utc - truth(second(at)) : Nanos{0};
  };
  for (int at = 0; at < 20; ++at) EXPECT_LT(std::chrono::abs(give(at, 0ns, Leap::insert)), 1ms);
  // 50 microseconds in each second, so that the inserted second takes 20,000 s.
  for (int at = 20; at < 200; ++at) {
    const Nanos off = give(at, -1s, Leap::none);
    EXPECT_NEAR(in_seconds(off), -50e-6 * (at - 19), 2e-3) << at;
  }
}

TEST(UtcSources, FollowAStepThatNobodyAnnounced) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  Nanos off{0};
  for (int at = 0; at < 40; ++at) {
    const Nanos step = at < 20 ? Nanos{0} : Nanos{-1s};
    sources.add(0, {.at = second(at), .utc = truth(second(at)) + step});
    if (const auto reading = sources.read(second(at))) off = reading->utc - truth(second(at));
  }
  EXPECT_NEAR(in_seconds(off), -1, 1e-3);
}

TEST(UtcSources, IgnoreSamplesThatAreOutOfOrder) {
  UtcSources sources(std::vector<Source>{{.error = 1e-3}});
  for (int at = 3; at <= 10; ++at) sources.add(0, {.at = second(at), .utc = truth(second(at))});
  sources.add(0, {.at = second(10), .utc = 0s});
  sources.add(0, {.at = second(9), .utc = 0s});
  EXPECT_LE(std::chrono::abs(sources.read(second(10))->utc - truth(second(10))), 1us);
}

}  // namespace
}  // namespace tempo::clock
