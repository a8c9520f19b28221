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

// One number, with a field list: what the machines below say and hear.
template <int kKind>
struct Number {
  std::uint32_t value = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("value", self.value);
  }
};

// Tells what happens to it: a message as a notice, a command as a broadcast, a due timer as a
// message to node 9. `start` sets both timers, the second one earlier. It breaks when it hears 99.
template <int kKind, std::uint32_t kTimersFrom>
class Teller {
 public:
  using Message = Number<kKind * 10>;
  using Command = Number<kKind * 10 + 1>;
  using Notice = Number<kKind * 10 + 2>;
  enum class Timer : std::uint8_t { late, early, count };

  void start(Turn<Teller>& turn) {
    timers_.set(Timer::late, turn.now + Nanos{kTimersFrom + 2});
    timers_.set(Timer::early, turn.now + Nanos{kTimersFrom});
  }
  void receive(Turn<Teller>& turn, NodeId from, const Message& message) {
    heard_ = message.value;
    turn.out.notify({message.value + 1000 * index(from)});
  }
  void on_timer(Turn<Teller>& turn, TimerId timer) {
    if (timers_.at(timer) > turn.now) return;
    timers_.set(Timer{std::to_underlying(timer)}, kNever);
    turn.out.send(node_at(9), {std::to_underlying(timer)});
  }
  void command(Turn<Teller>& turn, const Command& command) {
    turn.out.broadcast({command.value + static_cast<std::uint32_t>(turn.draw.below(2))});
    if (command.value >= 500) turn.out.notify({command.value});
  }
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return heard_ == 99 ? "never hears 99" : nullptr; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("timers", self.timers_);
    visit("heard", self.heard_);
  }

 private:
  Timers<Timer> timers_;
  std::uint32_t heard_ = 0;
};

using Left = Teller<1, 20>;
using Right = Teller<2, 10>;

// What the left part hears, the right part is told; what the right part hears goes only outside.
struct LeftTellsRight {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<0>, const Left::Notice& notice) {
    mux.template command_part<1>(turn, Right::Command{notice.value});
  }
};

using Both = Mux<LeftTellsRight, Left, Right>;
static_assert(Machine<Left> && Machine<Both>);

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
  }
  return "";
}

// A machine, what drives it, and what its last step put out.
template <class M>
struct Harness {
  template <class Do>
  std::vector<std::string> step(Instant now, Do todo) {
    outbox.clear();
    Turn<M> turn{now, draw, outbox};
    todo(turn);
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

using BothStage = Harness<Both>;
BothStage staged() { return {.machine = Both{Left{}, Right{}}, .draw = {}, .outbox = {}}; }

TEST(Mux, HandsAMessageToThePartItIsFor) {
  BothStage harness = staged();
  EXPECT_THAT(harness.receive(node_at(3), Both::Message::of<1>({5})),
              ElementsAre("notice: part=1 body{value=3005}"));
}

TEST(Mux, TurnsANoticeIntoACommandByARule) {
  BothStage harness = staged();
  EXPECT_THAT(harness.receive(node_at(0), Both::Message::of<0>({7})),
              ElementsAre("notice: part=0 body{value=7}", "to all: part=1 body{value=8}"));
}

TEST(Mux, HandsACommandToThePartItIsFor) {
  BothStage harness = staged();
  EXPECT_THAT(harness.command(Both::Command::of<0>({4})),
              ElementsAre("to all: part=0 body{value=5}"));
  EXPECT_THAT(harness.command(Both::Command::of<1>({4})),
              ElementsAre("to all: part=1 body{value=5}"));
}

// What a rule causes is seen by the rules in turn: the right part's notice follows the left part's.
TEST(Mux, AppliesRulesToWhatRulesCause) {
  BothStage harness = staged();
  EXPECT_THAT(harness.receive(node_at(0), Both::Message::of<0>({500})),
              ElementsAre("notice: part=0 body{value=500}", "to all: part=1 body{value=501}",
                          "notice: part=1 body{value=500}"));
}

TEST(Mux, NumbersTheTimersThrough) {
  BothStage harness = staged();
  harness.start(at(0s));
  const auto timers = harness.machine.timers();
  EXPECT_EQ(timers.size(), 4U);
  EXPECT_EQ(timers.at(TimerId{0}), at(22ns));
  EXPECT_EQ(timers.at(TimerId{1}), at(20ns));
  EXPECT_EQ(timers.at(TimerId{2}), at(12ns));
  EXPECT_EQ(timers.at(TimerId{3}), at(10ns));
  EXPECT_EQ(timers.at(TimerId{4}), kNever);
}

TEST(Mux, WakesTheTimersOfAllPartsInTheirOrder) {
  BothStage harness = staged();
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

TEST(Mux, PrefersTheFirstPartWhenBothAreDueAtOnce) {
  Harness<Mux<Nothing, Left, Left>> harness{
      .machine = Mux<Nothing, Left, Left>{Left{}, Left{}}, .draw = {}, .outbox = {}};
  harness.start(at(0s));
  EXPECT_EQ(harness.machine.timers().first_name(), TimerId{1});
  harness.on_timer(at(20ns), TimerId{1});
  EXPECT_EQ(harness.machine.timers().first_name(), TimerId{3});
}

TEST(Mux, IgnoresATimerThatIsNotThere) {
  BothStage harness = staged();
  harness.start(at(0s));
  const std::string before = packed(harness.machine, at(1s));
  EXPECT_THAT(harness.on_timer(at(1s), TimerId{4}), IsEmpty());
  EXPECT_EQ(packed(harness.machine, at(1s)), before);
}

TEST(Mux, IsBrokenWhenAPartIs) {
  for (const auto& message : {Both::Message::of<0>({99}), Both::Message::of<1>({99})}) {
    BothStage harness = staged();
    EXPECT_EQ(harness.machine.check(), nullptr);
    harness.receive(node_at(0), message);
    EXPECT_STREQ(harness.machine.check(), "never hears 99");
  }
}

TEST(Mux, ListsTheFieldsOfAllItsParts) {
  BothStage harness = staged();
  harness.start(at(0s));
  const Writes writes = write_into_every_field(harness.machine, at(0s));
  EXPECT_THAT(writes.unnoticed, IsEmpty());
  EXPECT_EQ(writes.tried, 2U * 3);
  EXPECT_EQ(unlisted_bytes(harness.machine), 0U);
  EXPECT_EQ(printed(harness.machine, at(0s)),
            "part{timers{timer=+22ns timer=+20ns} heard=0} part{timers{timer=+12ns timer=+10ns} "
            "heard=0}");
}

// The scratch outboxes belong to the driver's outbox; nothing of one step may leak into the next.
TEST(Mux, StartsEveryStepWithAnEmptyScratch) {
  BothStage harness = staged();
  const auto once = harness.receive(node_at(0), Both::Message::of<0>({500}));
  EXPECT_EQ(harness.receive(node_at(0), Both::Message::of<0>({500})), once);
}

// A mixture may itself be a part of a mixture.
struct OuterRules {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<1>, const Both::Notice& notice) {
    if (notice.body.index() == 1)
      mux.template command_part<0>(turn, Left::Command{std::get<1>(notice.body).value});
  }
};
using Nested = Mux<OuterRules, Left, Both>;
static_assert(Machine<Nested>);

TEST(Mux, MayBeAPart) {
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

// A command of 500 or more makes a notice, which makes the same command again, for ever.
struct Circle {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<0>, const Left::Notice& notice) {
    mux.template command_part<0>(turn, Left::Command{notice.value});
  }
};

TEST(MuxDeathTest, StopsRulesThatGoInACircle) {
  Harness<Mux<Circle, Left>> harness{
      .machine = Mux<Circle, Left>{Left{}}, .draw = {}, .outbox = {}};
  EXPECT_THAT(harness.receive(node_at(0), OneOf<Left::Message>::of<0>({5})),
              ElementsAre("notice: part=0 body{value=5}", "to all: part=0 body{value=6}"));
  EXPECT_DEATH(harness.receive(node_at(0), OneOf<Left::Message>::of<0>({500})), "kMostNotices");
}

TEST(OneOf, PacksWhichItIs) {
  // Both parts say the number 5; only the part differs.
  EXPECT_NE(packed(Both::Message::of<0>({5}), at(0s)), packed(Both::Message::of<1>({5}), at(0s)));
  EXPECT_THAT(unnoticed_writes(Both::Message::of<1>({5}), at(0s)), IsEmpty());
}

// Two words that have names.
struct Yes {
  bool operator==(const Yes&) const = default;
};
struct No {
  bool operator==(const No&) const = default;
};
std::string_view name_of(const Yes& /*word*/) { return "yes"; }
std::string_view name_of(const No& /*word*/) { return "no"; }

TEST(OneOf, IsCalledAsWhatItIsAndEqualsNothingElse) {
  using Word = OneOf<Yes, No>;
  EXPECT_EQ(name_of(Word::of<0>({})), "yes");
  EXPECT_EQ(name_of(Word::of<1>({})), "no");
  EXPECT_EQ(Word::of<0>({}), Word::of<0>({}));
  EXPECT_FALSE(Word::of<0>({}) == Word::of<1>({}));
}

}  // namespace
}  // namespace tempo
