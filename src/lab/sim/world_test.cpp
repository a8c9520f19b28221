// The World, driven with a machine that does what it is told and says what it hears.
#include "lab/sim/world.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/sim/tracer.h"

namespace tempo::sim {
namespace {

using ::testing::IsEmpty;

struct Word {
  std::uint32_t number = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("number", self.number);
  }
};
std::string_view name_of(const Word&) { return "word"; }

class Parrot {
 public:
  using Message = Word;
  struct Command {
    enum class What : std::uint8_t { say, set_first, set_second, draw } what = What::say;
    NodeId to = kNobody;       // say: kNobody is everybody
    std::uint32_t number = 0;  // say: the word; draw: the limit
    Nanos span{0};             // set: the timer, so far ahead
  };
  struct Notice {
    enum class What : std::uint8_t { heard, woke, drew } what = What::heard;
    NodeId from = kNobody;
    std::uint32_t number = 0;  // the word, the timer or the draw
  };
  enum class Timer : std::uint8_t { first, second, count };

  Parrot(NodeId self, Incarnation incarnation) : self_(self), incarnation_(incarnation) {}

  void start(Turn<Parrot>&) {}
  void receive(Turn<Parrot>& turn, NodeId from, const Message& message) {
    ++heard_;
    turn.out.note({.what = Notice::What::heard, .from = from, .number = message.number});
  }
  void wake(Turn<Parrot>& turn, TimerId timer) {
    timers_.stop(static_cast<Timer>(timer));
    turn.out.note({.what = Notice::What::woke, .number = std::to_underlying(timer)});
  }
  void command(Turn<Parrot>& turn, const Command& command) {
    switch (command.what) {
      case Command::What::say:
        if (command.to == kNobody)
          turn.out.broadcast({command.number});
        else
          turn.out.send(command.to, {command.number});
        break;
      case Command::What::set_first:
        timers_.set(Timer::first, turn.now + command.span);
        break;
      case Command::What::set_second:
        timers_.set(Timer::second, turn.now + command.span);
        break;
      case Command::What::draw:
        turn.out.note({.what = Notice::What::drew,
                       .number = static_cast<std::uint32_t>(turn.draw.below(command.number))});
        break;
    }
  }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }
  int heard() const { return heard_; }
  Incarnation incarnation() const { return incarnation_; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("incarnation", self.incarnation_);
    visit("heard", self.heard_);
    visit("timers", self.timers_);
  }

 private:
  NodeId self_;
  Incarnation incarnation_;
  int heard_ = 0;
  Timers<Timer> timers_;
};

using What = Parrot::Command::What;

// Writes down what nodes notice, in milliseconds: "1 2 hears 7 from 1".
class Diary : public NoWatch {
 public:
  template <class World>
  void noticed(const World& world, NodeId id, const Parrot::Notice& notice) {
    const std::string who = fmt::format("{} {}", milliseconds(world.now()), index(id) + 1);
    switch (notice.what) {
      case Parrot::Notice::What::heard:
        lines.push_back(
            fmt::format("{} hears {} from {}", who, notice.number, index(notice.from) + 1));
        arrivals[notice.number].push_back(world.now());
        break;
      case Parrot::Notice::What::woke:
        lines.push_back(fmt::format("{} wakes for {}", who, notice.number));
        break;
      case Parrot::Notice::What::drew:
        lines.push_back(fmt::format("{} draws {}", who, notice.number));
        break;
    }
  }
  template <class World, class Message>
  void sent(const World&, NodeId, NodeId, const Message&, std::uint32_t number) {
    numbers.push_back(number);
  }
  template <class World, class Message>
  void lost(const World&, NodeId, NodeId, const Message& message, std::uint32_t) {
    losses.insert(message.number);
  }
  template <class World, class Message>
  void unheard(const World&, NodeId, NodeId to, const Message& message, std::uint32_t) {
    lines.push_back(fmt::format("nobody hears {} at {}", message.number, index(to) + 1));
  }
  template <class World>
  void disturbed(const World&, NodeId id, const char* what) {
    disturbances.push_back(id == kNobody ? what : fmt::format("{} {}", index(id) + 1, what));
  }

  std::vector<std::string> lines;
  std::map<std::uint32_t, std::vector<Instant>> arrivals;  // of each word
  std::set<std::uint32_t> losses;
  std::vector<std::uint32_t> numbers;  // of the transmissions
  std::vector<std::string> disturbances;
};

using Lines = std::vector<std::string>;

Link steady(Nanos delay) {
  Link link;
  link.delay = Delay::constant(delay);
  return link;
}

// A World with its diary, and shorter words for what the tests do.
template <class Watch>
struct Play {
  using Sim = World<Parrot, Watch>;
  Watch watch;
  Sim world;

  explicit Play(const typename Sim::Options& options, Watch watcher = {})
      : watch(std::move(watcher)),
        world(
            options, [](NodeId self, Incarnation incarnation) { return Parrot(self, incarnation); },
            watch) {}
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  void start_all() {
    for (std::uint32_t i = 0; i < world.size(); ++i) world.start(NodeId{i});
  }
  void say(int from, int to, std::uint32_t number) {
    world.command(node(from),
                  {.what = What::say, .to = to == 0 ? kNobody : node(to), .number = number});
  }
  void set(int who, What timer, Nanos span) {
    world.command(node(who), {.what = timer, .span = span});
  }
  void run(Nanos until) { world.run_until(Instant{until}); }
  static NodeId node(int number) { return node_at(static_cast<std::size_t>(number) - 1); }
};
using Stage = Play<Diary>;

constexpr NodeId kOne{0};
constexpr NodeId kTwo{1};
constexpr NodeId kThree{2};

TEST(World, DeliversAfterTheDelay) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.say(1, 2, 7);
  stage.say(1, 0, 8);
  stage.run(1ms);
  EXPECT_TRUE(stage.watch.lines.empty());  // an instant belongs to what comes after it
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines,
            (Lines{"1 2 hears 7 from 1", "1 2 hears 8 from 1", "1 3 hears 8 from 1"}));
  EXPECT_EQ(stage.watch.numbers, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(stage.world.events(), 3U);
}

TEST(World, DeliversMessagesBeforeTimers) {
  Stage stage({.nodes = 2, .link = steady(5ms)});
  stage.start_all();
  stage.set(2, What::set_second, 5ms);
  stage.set(2, What::set_first, 5ms);
  stage.set(1, What::set_first, 5ms);
  stage.say(1, 2, 7);
  stage.say(1, 2, 8);
  stage.run(6ms);
  // Of timers due at one instant the one named first; of nodes, the one whose timer was set first.
  EXPECT_EQ(stage.watch.lines, (Lines{"5 2 hears 7 from 1", "5 2 hears 8 from 1", "5 2 wakes for 0",
                                      "5 2 wakes for 1", "5 1 wakes for 0"}));
}

TEST(World, WakesAtTheNewTimeWhenATimerIsMoved) {
  Stage stage({.nodes = 1});
  stage.start_all();
  stage.set(1, What::set_first, 10ms);
  stage.run(5ms);
  stage.set(1, What::set_first, 15ms);  // later: the old event finds nothing due
  stage.run(12ms);
  EXPECT_TRUE(stage.watch.lines.empty());
  stage.set(1, What::set_second, 1ms);  // earlier than what is waited for
  stage.run(30ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"13 1 wakes for 1", "20 1 wakes for 0"}));
}

TEST(World, StopsWhenAsked) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  for (std::uint32_t i = 1; i <= 5; ++i) stage.say(1, 2, i);
  const auto heard_three = [&] { return stage.watch.lines.size() >= 3; };
  EXPECT_TRUE(stage.world.run_until(Instant{10ms}, heard_three));
  EXPECT_EQ(stage.watch.lines.size(), 3U);
  EXPECT_EQ(stage.world.now(), Instant{1ms});
  EXPECT_TRUE(stage.world.run_until(Instant{10ms}, heard_three));  // true already
  EXPECT_FALSE(stage.world.run_until(Instant{10ms}, [] { return false; }));
  EXPECT_EQ(stage.watch.lines.size(), 5U);
  EXPECT_EQ(stage.world.now(), Instant{10ms});
}

// --- chance ---

constexpr std::uint32_t kWords = 300;

// Node 1 says that many words to node 2, far apart, over this link; what arrived when.
Diary conversation(const Link& link, std::uint64_t seed = 3, bool others_talk = false) {
  Stage stage({.nodes = 3, .seed = seed, .link = link});
  stage.start_all();
  for (std::uint32_t i = 0; i < kWords; ++i) {
    stage.run(100ms * i);
    stage.say(1, 2, i);
    if (others_talk) stage.say(3, 0, 1'000'000 + i);
  }
  stage.run(100ms * (kWords + 1));
  return stage.watch;
}

Link varying() {
  Link link;
  link.delay = *Delay::parse("uniform:100us..2ms");
  link.lateness = *Delay::parse("uniform:10ms..20ms");
  return link;
}

// Of so many tosses with this chance: not further from the mean than five standard deviations.
void expect_share(std::size_t count, double chance) {
  EXPECT_NEAR(static_cast<double>(count), kWords * chance,
              5 * std::sqrt(kWords * chance * (1 - chance)));
}

TEST(WorldChance, DelaysVaryWithinTheLink) {
  const Diary diary = conversation(varying());
  ASSERT_EQ(diary.arrivals.size(), kWords);
  std::set<Nanos> delays;
  for (const auto& [word, when] : diary.arrivals) {
    ASSERT_EQ(when.size(), 1U);
    const Nanos delay = when[0] - Instant{100ms * word};
    EXPECT_TRUE(delay >= 100us && delay <= 2ms);
    delays.insert(delay);
  }
  EXPECT_GT(delays.size(), kWords / 2);
}

TEST(WorldChance, LossChangesNoOtherDelay) {
  const Diary without = conversation(varying());
  Link link = varying();
  link.loss = 0.4;
  const Diary with = conversation(link);
  expect_share(with.losses.size(), 0.4);
  EXPECT_EQ(with.arrivals.size() + with.losses.size(), kWords);
  for (const auto& [word, when] : with.arrivals) EXPECT_EQ(when, without.arrivals.at(word)) << word;
}

TEST(WorldChance, DuplicationChangesNoFirstCopy) {
  const Diary without = conversation(varying());
  Link link = varying();
  link.duplicate = 0.4;
  const Diary with = conversation(link);
  std::size_t twice = 0;
  for (const auto& [word, when] : with.arrivals) {
    EXPECT_EQ(when[0], without.arrivals.at(word)[0]) << word;
    if (when.size() == 1) continue;
    ASSERT_EQ(when.size(), 2U);
    EXPECT_TRUE(when[1] - when[0] >= 100us && when[1] - when[0] <= 2ms);
    ++twice;
  }
  expect_share(twice, 0.4);
}

TEST(WorldChance, ReorderingDelaysSomeAndNoOthers) {
  const Diary without = conversation(varying());
  Link link = varying();
  link.reorder = 0.4;
  const Diary with = conversation(link);
  std::size_t late = 0;
  for (const auto& [word, when] : with.arrivals) {
    const Nanos longer = when[0] - without.arrivals.at(word)[0];
    if (longer == 0ns) continue;
    EXPECT_TRUE(longer >= 10ms && longer <= 20ms) << word;
    ++late;
  }
  expect_share(late, 0.4);
}

// Adding one fault does not reshuffle the others.
TEST(WorldChance, EveryFaultHasItsOwnStream) {
  Link link = varying();
  link.loss = 0.3;
  const Diary loss = conversation(link);
  link.loss = 0;
  link.duplicate = 0.3;
  const Diary duplicate = conversation(link);
  link.duplicate = 0;
  link.reorder = 0.3;
  const Diary reorder = conversation(link);
  link.loss = link.duplicate = 0.3;
  const Diary all = conversation(link);
  EXPECT_EQ(all.losses, loss.losses);
  std::vector<std::uint32_t> duplicated_otherwise;
  std::vector<std::uint32_t> late_otherwise;
  for (const auto& [word, when] : all.arrivals) {
    if (when.size() != duplicate.arrivals.at(word).size()) duplicated_otherwise.push_back(word);
    if (when[0] != reorder.arrivals.at(word)[0]) late_otherwise.push_back(word);
  }
  EXPECT_THAT(duplicated_otherwise, IsEmpty());
  EXPECT_THAT(late_otherwise, IsEmpty());
}

// Nor does it change the second copies of what was duplicated without it.
TEST(WorldChance, LossAndReorderingChangeNoSecondCopy) {
  Link link = varying();
  link.duplicate = 0.3;
  const Diary duplicate = conversation(link);
  link.loss = 0.3;
  link.reorder = 0.3;
  const Diary all = conversation(link);
  std::vector<std::uint32_t> copied_otherwise;
  for (const auto& [word, when] : all.arrivals) {
    if (when.size() < 2) continue;
    const std::vector<Instant>& before = duplicate.arrivals.at(word);
    if (when[1] - when[0] != before[1] - before[0]) copied_otherwise.push_back(word);
  }
  EXPECT_THAT(copied_otherwise, IsEmpty());
}

TEST(WorldChance, EveryNodeHasItsOwnStream) {
  const Diary alone = conversation(varying());
  const Diary among_others = conversation(varying(), 3, true);
  EXPECT_GT(among_others.arrivals.size(), alone.arrivals.size());
  for (const auto& [word, when] : alone.arrivals) EXPECT_EQ(when, among_others.arrivals.at(word));
}

TEST(WorldChance, MachinesDrawFromTheirOwnStreams) {
  const auto draws = [](const Link& link, std::uint64_t seed) {
    Stage stage({.nodes = 2, .seed = seed, .link = link});
    stage.start_all();
    for (std::uint32_t i = 0; i < 20; ++i) {
      stage.say(1, 2, i);
      stage.world.command(i % 2 == 0 ? kOne : kTwo, {.what = What::draw, .number = 1'000'000});
    }
    return stage.watch.lines;
  };
  Link rough = varying();
  rough.loss = rough.duplicate = rough.reorder = 0.5;
  EXPECT_EQ(draws(varying(), 1), draws(rough, 1));
  EXPECT_NE(draws(varying(), 1), draws(varying(), 2));
}

std::uint64_t hash_of_a_rough_run(std::uint64_t seed) {
  Link link = varying();
  link.loss = link.duplicate = link.reorder = 0.2;
  Play<Tracer> play({.nodes = 4, .seed = seed, .link = link}, Tracer(false));
  play.start_all();
  for (std::uint32_t i = 0; i < 100; ++i) {
    play.run(1ms * i);
    play.say(static_cast<int>(i % 4) + 1, 0, i);
    if (i == 40) play.world.crash(kTwo);
    if (i == 60) play.world.start(kTwo);
  }
  play.run(1s);
  return play.watch.trace().hash();
}

TEST(WorldChance, OneSeedDecidesEverything) {
  EXPECT_EQ(hash_of_a_rough_run(5), hash_of_a_rough_run(5));
  EXPECT_NE(hash_of_a_rough_run(5), hash_of_a_rough_run(6));
}

TEST(World, BroadcastsInOneOrderIfTheLinkDoes) {
  Link link = varying();
  const auto spread = [&](bool same_order) {
    link.same_order = same_order;
    Stage stage({.nodes = 5, .link = link});
    stage.start_all();
    stage.say(1, 0, 7);
    stage.run(1s);
    const auto& when = stage.watch.arrivals.at(7);
    EXPECT_EQ(when.size(), 4U);
    return *std::ranges::max_element(when) - *std::ranges::min_element(when);
  };
  EXPECT_EQ(spread(true), 0ns);
  EXPECT_GT(spread(false), 0ns);
}

// --- who reaches whom ---

// Nothing goes from any of these pairs' first to its second.
std::vector<bool> cuts(std::uint32_t nodes, const std::vector<std::pair<int, int>>& pairs) {
  std::vector<bool> all(std::size_t{nodes} * nodes);
  for (const auto& [from, to] : pairs)
    all[index(Stage::node(from)) * nodes + index(Stage::node(to))] = true;
  return all;
}

TEST(WorldCuts, CutOneWay) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.world.set_cuts(cuts(3, {{1, 2}}));
  EXPECT_FALSE(stage.world.reaches(kOne, kTwo));
  EXPECT_TRUE(stage.world.reaches(kTwo, kOne));
  EXPECT_FALSE(stage.world.whole());
  stage.say(1, 0, 7);
  stage.say(2, 1, 8);
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 3 hears 7 from 1", "1 1 hears 8 from 2"}));
  EXPECT_EQ(stage.watch.losses, (std::set<std::uint32_t>{7}));
}

TEST(WorldCuts, CutBothWaysUntilMended) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.say(1, 2, 1);  // under way: still arrives
  stage.world.set_cuts(cuts(3, {{1, 2}, {2, 1}, {3, 2}, {2, 3}}));
  stage.say(1, 0, 2);
  stage.say(2, 0, 3);
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 1 from 1", "1 3 hears 2 from 1"}));
  stage.world.set_cuts({});
  EXPECT_TRUE(stage.world.whole());
  stage.say(1, 0, 4);
  stage.run(4ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 1 from 1", "1 3 hears 2 from 1",
                                      "3 2 hears 4 from 1", "3 3 hears 4 from 1"}));
  EXPECT_EQ(stage.watch.disturbances, (Lines{"1 starts", "2 starts", "3 starts", "cut", "whole"}));
}

// What a cut loses is drawn for all the same: mending it later changes no delay.
TEST(WorldCuts, ChangeNoOtherDelay) {
  const auto arrivals = [](bool cut) {
    Stage stage({.nodes = 3, .link = varying()});
    stage.start_all();
    if (cut) stage.world.set_cuts(cuts(3, {{1, 3}}));
    for (std::uint32_t i = 0; i < 50; ++i) {
      stage.run(10ms * i);
      stage.say(1, 0, i);
    }
    stage.run(1s);
    std::vector<std::string> at_two;
    for (const std::string& line : stage.watch.lines)
      if (line.find(" 2 hears") != std::string::npos) at_two.push_back(line);
    EXPECT_EQ(at_two.size(), 50U);
    return at_two;
  };
  EXPECT_EQ(arrivals(true), arrivals(false));
}

TEST(World, CarriesNothingUnplugged) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  stage.world.plug(false);
  stage.say(1, 0, 7);
  stage.world.plug(true);
  stage.say(1, 0, 8);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 8 from 1"}));
  EXPECT_EQ(stage.watch.numbers.size(), 2U);  // both were sent
}

// --- clocks ---

// A timer of ten seconds on a clock that is fast or slow fires when that clock shows ten seconds.
TEST(WorldClocks, RunAtTheirOwnRates) {
  for (const std::int64_t ppb : {100'000, -100'000, 1, -1, 0, 50'000'000}) {
    Stage stage({.nodes = 1});
    stage.world.set_rate(kOne, Ppb{ppb});
    stage.start_all();
    stage.set(1, What::set_first, 10s);
    ASSERT_TRUE(stage.world.run_until(Instant{30s}, [&] { return !stage.watch.lines.empty(); }))
        << ppb;
    const double expected = 10e9 / (1 + static_cast<double>(ppb) * 1e-9);
    EXPECT_NEAR(static_cast<double>(stage.world.now().time_since_epoch().count()), expected, 2)
        << ppb;
    EXPECT_GE(stage.world.local_now(kOne), Instant{10s}) << ppb;
    EXPECT_LE(stage.world.local_now(kOne), Instant{10s} + 1ns) << ppb;
  }
}

TEST(WorldClocks, DriftApart) {
  Stage stage({.nodes = 3});
  stage.world.set_rate(kOne, Ppb{100'000});
  stage.world.set_rate(kTwo, Ppb{-100'000});
  stage.start_all();
  stage.run(1000s);
  EXPECT_EQ(stage.world.local_now(kOne), Instant{1000s + 100ms});
  EXPECT_EQ(stage.world.local_now(kTwo), Instant{1000s - 100ms});
  EXPECT_EQ(stage.world.local_now(kThree), Instant{1000s});
}

// --- crashes, pauses and other people ---

TEST(World, ACrashLosesEverything) {
  Stage stage({.nodes = 2, .link = steady(2ms)});
  stage.start_all();
  const Incarnation first = stage.world.machine(kTwo).incarnation();
  stage.say(1, 2, 1);
  stage.run(5ms);
  EXPECT_EQ(stage.world.machine(kTwo).heard(), 1);
  stage.set(2, What::set_first, 10ms);
  stage.say(1, 2, 2);
  stage.world.crash(kTwo);
  stage.world.crash(kTwo);  // again: nothing
  EXPECT_FALSE(stage.world.up(kTwo));
  stage.say(2, 1, 3);  // the dead say nothing
  stage.run(10ms);
  stage.world.start(kTwo);
  EXPECT_NE(stage.world.machine(kTwo).incarnation(), first);
  EXPECT_EQ(stage.world.machine(kTwo).heard(), 0);
  EXPECT_EQ(stage.world.incarnation_count(kTwo), 2U);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"2 2 hears 1 from 1", "nobody hears 2 at 2"}));
  EXPECT_EQ(stage.watch.disturbances, (Lines{"1 starts", "2 starts", "2 crashes", "2 starts"}));
}

// Which life a node is in decides its number, not what happened meanwhile.
TEST(World, IncarnationsBelongToTheSeed) {
  const auto second_life = [](std::uint64_t seed, bool busy) {
    Stage stage({.nodes = 2, .seed = seed});
    stage.start_all();
    if (busy) stage.say(1, 0, 7);
    stage.world.crash(kTwo);
    stage.world.start(kTwo);
    return stage.world.machine(kTwo).incarnation();
  };
  EXPECT_EQ(second_life(1, false), second_life(1, true));
  EXPECT_NE(second_life(1, false), second_life(2, false));
}

TEST(World, APausedNodeReadsItsMailBeforeItsTimers) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  stage.set(2, What::set_first, 5ms);
  stage.set(2, What::set_second, 15ms);
  stage.run(2ms);
  stage.world.pause(kTwo);
  EXPECT_TRUE(stage.world.paused(kTwo));
  stage.say(1, 2, 1);
  stage.say(2, 1, 9);  // a paused node does nothing
  stage.run(7ms);
  stage.say(1, 2, 2);
  stage.run(10ms);
  EXPECT_TRUE(stage.watch.lines.empty());
  stage.world.resume(kTwo);
  EXPECT_EQ(stage.watch.lines,
            (Lines{"10 2 hears 1 from 1", "10 2 hears 2 from 1", "10 2 wakes for 0"}));
  stage.run(20ms);
  EXPECT_EQ(stage.watch.lines.back(), "15 2 wakes for 1");
  EXPECT_EQ(stage.watch.disturbances, (Lines{"1 starts", "2 starts", "2 pauses", "2 resumes"}));
}

TEST(World, WhatWaitsDiesWithTheNode) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.world.pause(kTwo);
  stage.world.pause(kThree);
  stage.say(1, 0, 7);
  stage.run(2ms);
  stage.world.crash(kTwo);
  stage.world.start(kTwo);
  stage.world.resume(kTwo);  // it does not sleep: nothing
  stage.world.resume(kThree);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"2 3 hears 7 from 1"}));
}

TEST(World, CarriesWhatOthersInject) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.world.crash(kOne);
  stage.world.inject(kOne, kTwo, {7});
  stage.world.inject(kOne, kNobody, {8});
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines,
            (Lines{"1 2 hears 7 from 1", "1 2 hears 8 from 1", "1 3 hears 8 from 1"}));
}

TEST(World, FateDecidesForEveryCopy) {
  Stage stage({.nodes = 4, .link = steady(1ms)});
  stage.start_all();
  std::vector<std::string> asked;
  stage.world.set_fate([&](NodeId from, NodeId to, const Word& word) {
    asked.push_back(fmt::format("{}->{} {}", index(from) + 1, index(to) + 1, word.number));
    return Fate{.lost = to == kTwo, .twice = to == kThree, .extra = index(to) == 3 ? 5ms : 0ms};
  });
  stage.say(1, 0, 7);
  stage.run(1s);
  EXPECT_EQ(asked, (Lines{"1->2 7", "1->3 7", "1->4 7"}));
  EXPECT_EQ(stage.watch.lines,
            (Lines{"1 3 hears 7 from 1", "2 3 hears 7 from 1", "6 4 hears 7 from 1"}));
  EXPECT_EQ(stage.watch.losses, (std::set<std::uint32_t>{7}));
}

TEST(World, ALinkMayChange) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  stage.say(1, 2, 1);
  stage.world.set_link(steady(4ms));
  stage.say(1, 2, 2);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 1 from 1", "4 2 hears 2 from 1"}));
  EXPECT_EQ(stage.watch.disturbances.back(), "link changes");
}

TEST(Tracer, WritesWhatAWorldDoes) {
  Play<Tracer> play({.nodes = 2, .link = steady(1ms)}, Tracer(true));
  play.start_all();
  play.say(1, 0, 7);
  play.run(2ms);
  play.world.set_cuts(cuts(2, {{1, 2}}));
  play.say(1, 2, 8);
  EXPECT_EQ(text(play.watch.trace(), true),
            "0 1 starts\n0 2 starts\n0 1->* word\n1 1->2 word received\n2 network: cut\n2 1->2 "
            "word\n2 1->2 word lost\n");
}

TEST(WorldDeathTest, RefusesWhatCannotBe) {
  Stage stage({.nodes = 2});
  stage.start_all();
  EXPECT_DEATH(stage.world.start(kOne), "!node.up");
  EXPECT_DEATH(stage.world.start(kThree), "index\\(id\\) < options_.nodes");
  EXPECT_DEATH(stage.world.set_rate(kOne, Ppb{1}), "now_ == Instant");
  EXPECT_DEATH(stage.world.set_cuts({true}), "cuts.size\\(\\)");
  stage.run(1ms);
  EXPECT_DEATH(stage.run(0ms), "limit >= now_");
}

}  // namespace
}  // namespace tempo::sim
