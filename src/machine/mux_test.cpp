#include "machine/mux.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"

namespace tempo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Instant at(Nanos span) { return Instant{span}; }

// A number with a field list: the message, command and notice type of the machines below.
template <int kKind>
struct Number {
  std::uint32_t value = 0;

  static constexpr auto fields(auto list) { return list(field<&Number::value>("value")); }
};

// Reports its inputs: a message as a notice, a command as a broadcast, a due timer as a message to
// node 9. `start` sets both timers, the second one earlier. Its check fails after it receives 99.
template <int kKind, std::uint32_t kTimersFrom>
class Reporter {
 public:
  using Message = Number<kKind * 10>;
  using Command = Number<kKind * 10 + 1>;
  using Notice = Number<kKind * 10 + 2>;
  enum class Timer : std::uint8_t { late, early, count };

  void start(Turn<Reporter>& turn) {
    timers_.set(Timer::late, turn.now + Nanos{kTimersFrom + 2});
    timers_.set(Timer::early, turn.now + Nanos{kTimersFrom});
  }
  void receive(Turn<Reporter>& turn, NodeId from, const Message& message) {
    received_ = message.value;
    turn.out.notify({message.value + 1000 * index(from)});
  }
  void on_timer(Turn<Reporter>& turn, TimerId timer) {
    if (timers_.at(timer) > turn.now) return;
    timers_.set(Timer{std::to_underlying(timer)}, kNever);
    turn.out.send(node_at(9), {std::to_underlying(timer)});
  }
  void command(Turn<Reporter>& turn, const Command& command) {
    turn.out.broadcast({command.value + static_cast<std::uint32_t>(turn.draw.below(2))});
    if (command.value >= 500) turn.out.notify({command.value});
  }
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return received_ == 99 ? "never receives 99" : nullptr; }

  static constexpr auto fields(auto list) {
    return list(field<&Reporter::timers_>("timers"), field<&Reporter::received_>("heard"));
  }
  friend FieldCheck;

 private:
  Timers<Timer> timers_;
  std::uint32_t received_ = 0;
};

using Left = Reporter<1, 20>;
using Right = Reporter<2, 10>;

// Turns notices of the left part into commands to the right part. Notices of the right part go only
// to the driver.
struct LeftCommandsRight {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<0>, const Left::Notice& notice) {
    mux.template command_part<1>(turn, Right::Command{notice.value});
  }
};

using Both = Mux<LeftCommandsRight, Left, Right>;
static_assert(CheckableMachine<Left> && CheckableMachine<Both>);

class ConstantDraw final : public Draw {
 public:
  std::uint64_t below(std::uint64_t limit) override { return limit - 1; }
};

template <class M>
std::string text_of(const Output<M>& output) {
  switch (output.kind) {
    case OutputKind::send:
      return fmt::format("to {}: {}", index(output.to), printed(output.message, at(0s)));
    case OutputKind::broadcast:
      return "to all: " + printed(output.message, at(0s));
    case OutputKind::notice:
      return "notice: " + printed(output.notice, at(0s));
    case OutputKind::persist:
      break;
  }
  return "";
}

// A machine and its driver; each function returns the outputs of its step as text. Not a
// MachineHarness: these tests give each step its own time, also an earlier one than before.
template <class M>
struct Harness {
  template <class Do>
  std::vector<std::string> step(Instant now, Do action) {
    outbox.clear();
    Turn<M> turn{now, draw, outbox};
    action(turn);
    std::vector<std::string> lines;
    for (const Output<M>& output : outbox) lines.push_back(text_of<M>(output));
    return lines;
  }
  std::vector<std::string> start(Instant now) {
    return step(now, [&](Turn<M>& turn) { machine.start(turn); });
  }
  std::vector<std::string> receive(NodeId from, const typename M::Message& message) {
    return step(at(0s), [&](Turn<M>& turn) { machine.receive(turn, from, message); });
  }
  std::vector<std::string> on_timer(Instant now, TimerId timer) {
    return step(now, [&](Turn<M>& turn) { machine.on_timer(turn, timer); });
  }
  std::vector<std::string> command(const typename M::Command& command) {
    return step(at(0s), [&](Turn<M>& turn) { machine.command(turn, command); });
  }

  M machine;
  ConstantDraw draw;
  Outbox<M> outbox;
};

using BothHarness = Harness<Both>;
BothHarness make_harness() { return {.machine = Both{Left{}, Right{}}, .draw = {}, .outbox = {}}; }

TEST(Mux, DeliversAMessageToItsPart) {
  BothHarness harness = make_harness();
  EXPECT_THAT(harness.receive(node_at(3), Both::Message::of<1>({5})),
              ElementsAre("notice: part=1 body{value=3005}"));
}

TEST(Mux, RulesTurnNoticesIntoCommands) {
  BothHarness harness = make_harness();
  EXPECT_THAT(harness.receive(node_at(0), Both::Message::of<0>({7})),
              ElementsAre("notice: part=0 body{value=7}", "to all: part=1 body{value=8}"));
}

TEST(Mux, DeliversACommandToItsPart) {
  BothHarness harness = make_harness();
  EXPECT_THAT(harness.command(Both::Command::of<0>({4})),
              ElementsAre("to all: part=0 body{value=5}"));
  EXPECT_THAT(harness.command(Both::Command::of<1>({4})),
              ElementsAre("to all: part=1 body{value=5}"));
}

// Rules also apply to notices that rules cause: the right part's notice follows the left part's.
TEST(Mux, AppliesRulesToNoticesCausedByRules) {
  BothHarness harness = make_harness();
  EXPECT_THAT(harness.receive(node_at(0), Both::Message::of<0>({500})),
              ElementsAre("notice: part=0 body{value=500}", "to all: part=1 body{value=501}",
                          "notice: part=1 body{value=500}"));
}

TEST(Mux, NumbersTimersConsecutively) {
  BothHarness harness = make_harness();
  harness.start(at(0s));
  const auto timers = harness.machine.timers();
  EXPECT_EQ(timers.size(), 4U);
  EXPECT_EQ(timers.at(TimerId{0}), at(22ns));
  EXPECT_EQ(timers.at(TimerId{1}), at(20ns));
  EXPECT_EQ(timers.at(TimerId{2}), at(12ns));
  EXPECT_EQ(timers.at(TimerId{3}), at(10ns));
  EXPECT_EQ(timers.at(TimerId{4}), kNever);
}

TEST(Mux, RunsTheTimersOfAllPartsInOrder) {
  BothHarness harness = make_harness();
  harness.start(at(0s));
  std::vector<std::string> all;
  while (harness.machine.timers().first() != kNever) {
    const auto lines =
        harness.on_timer(harness.machine.timers().first(), harness.machine.timers().first_name());
    all.insert(all.end(), lines.begin(), lines.end());
  }
  EXPECT_THAT(all, ElementsAre("to 9: part=1 body{value=1}", "to 9: part=1 body{value=0}",
                               "to 9: part=0 body{value=1}", "to 9: part=0 body{value=0}"));
}

TEST(Mux, RunsTheFirstPartFirstWhenBothAreDue) {
  Harness<Mux<Nothing, Left, Left>> harness{
      .machine = Mux<Nothing, Left, Left>{Left{}, Left{}}, .draw = {}, .outbox = {}};
  harness.start(at(0s));
  EXPECT_EQ(harness.machine.timers().first_name(), TimerId{1});
  harness.on_timer(at(20ns), TimerId{1});
  EXPECT_EQ(harness.machine.timers().first_name(), TimerId{3});
}

TEST(Mux, IgnoresAnUnknownTimer) {
  BothHarness harness = make_harness();
  harness.start(at(0s));
  const std::string before = packed(harness.machine, at(1s));
  EXPECT_THAT(harness.on_timer(at(1s), TimerId{4}), IsEmpty());
  EXPECT_EQ(packed(harness.machine, at(1s)), before);
}

TEST(Mux, CheckFailsWhenAPartFails) {
  for (const auto& message : {Both::Message::of<0>({99}), Both::Message::of<1>({99})}) {
    BothHarness harness = make_harness();
    EXPECT_EQ(harness.machine.check(), nullptr);
    harness.receive(node_at(0), message);
    EXPECT_STREQ(harness.machine.check(), "never receives 99");
  }
}

TEST(Mux, ListsTheFieldsOfAllParts) {
  BothHarness harness = make_harness();
  harness.start(at(0s));
  const Writes writes = write_into_every_field(harness.machine, at(0s));
  EXPECT_THAT(writes.unnoticed, IsEmpty());
  EXPECT_EQ(writes.tried, 2U * 3);
  EXPECT_EQ(printed(harness.machine, at(0s)),
            "part{timers{timer=+22ns timer=+20ns} heard=0} part{timers{timer=+12ns timer=+10ns} "
            "heard=0}");
}

// The scratch outboxes are part of the driver's outbox; one step must not affect the next.
TEST(Mux, StartsEveryStepWithAnEmptyScratch) {
  BothHarness harness = make_harness();
  const auto once = harness.receive(node_at(0), Both::Message::of<0>({500}));
  EXPECT_EQ(harness.receive(node_at(0), Both::Message::of<0>({500})), once);
}

// A Mux can be a part of another Mux.
struct OuterRules {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<1>, const Both::Notice& notice) {
    if (notice.body.index() == 1)
      mux.template command_part<0>(turn, Left::Command{std::get<1>(notice.body).value});
  }
};
using Nested = Mux<OuterRules, Left, Both>;
static_assert(CheckableMachine<Nested>);

TEST(Mux, CanBeNested) {
  Harness<Nested> harness{
      .machine = Nested{Left{}, Both{Left{}, Right{}}}, .draw = {}, .outbox = {}};
  harness.start(at(0s));
  EXPECT_EQ(harness.machine.timers().size(), 6U);
  EXPECT_EQ(harness.machine.timers().first_name(), TimerId{5});
  EXPECT_THAT(
      harness.receive(node_at(0), Nested::Message::of<1>(Both::Message::of<1>({3}))),
      ElementsAre("notice: part=1 body{part=1 body{value=3}}", "to all: part=0 body{value=4}"));
  EXPECT_THAT(harness.on_timer(at(10ns), TimerId{5}),
              ElementsAre("to 9: part=1 body{part=1 body{value=1}}"));
}

// A command of 500 or more causes a notice, which causes the same command again, without end.
struct Loop {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<0>, const Left::Notice& notice) {
    mux.template command_part<0>(turn, Left::Command{notice.value});
  }
};

TEST(MuxDeathTest, AbortsOnAnEndlessLoopOfRules) {
  Harness<Mux<Loop, Left>> harness{.machine = Mux<Loop, Left>{Left{}}, .draw = {}, .outbox = {}};
  EXPECT_THAT(harness.receive(node_at(0), OneOf<Left::Message>::of<0>({5})),
              ElementsAre("notice: part=0 body{value=5}", "to all: part=0 body{value=6}"));
  EXPECT_DEATH(harness.receive(node_at(0), OneOf<Left::Message>::of<0>({500})), "kMaxNotices");
}

TEST(OneOf, PacksItsAlternative) {
  // The number is the same; only the part differs.
  EXPECT_NE(packed(Both::Message::of<0>({5}), at(0s)), packed(Both::Message::of<1>({5}), at(0s)));
  EXPECT_THAT(unnoticed_writes(Both::Message::of<1>({5}), at(0s)), IsEmpty());
}

// Two message types with names.
struct Yes {
  bool operator==(const Yes&) const = default;
};
struct No {
  bool operator==(const No&) const = default;
};
std::string_view name_of(const Yes& /*message*/) { return "yes"; }
std::string_view name_of(const No& /*message*/) { return "no"; }

TEST(OneOf, HasTheNameOfItsAlternative) {
  using Answer = OneOf<Yes, No>;
  EXPECT_EQ(name_of(Answer::of<0>({})), "yes");
  EXPECT_EQ(name_of(Answer::of<1>({})), "no");
  EXPECT_EQ(Answer::of<0>({}), Answer::of<0>({}));
  EXPECT_FALSE(Answer::of<0>({}) == Answer::of<1>({}));
}

}  // namespace
}  // namespace tempo
