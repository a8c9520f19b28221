#include "machine/compose.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo {
namespace {

constexpr Instant at(Nanos span) { return Instant{span}; }
enum class Name : std::uint8_t { first, second, count };

// A command n persists n as text, sends n and reports n.
class Part1 {
 public:
  using Message = std::uint32_t;
  using Command = std::uint32_t;
  using Notice = std::uint32_t;
  using Record = std::string;
  static Command persisted(const Record& /*record*/) { return 0; }

  void start(Turn<Part1>& /*turn*/) {}
  void receive(Turn<Part1>& /*turn*/, NodeId /*from*/, const Message& /*message*/) {}
  void on_timer(Turn<Part1>& /*turn*/, TimerId /*timer*/) {}
  void command(Turn<Part1>& turn, const Command& command) {
    turn.out.persist(std::to_string(command));
    turn.out.broadcast(command);
    turn.out.notify(command);
    turn.out.send(node_at(1), command);
  }
  const Timers<Name>& timers() const { return timers_; }
  const char* check() const { return nullptr; }

 private:
  Timers<Name> timers_;
};
static_assert(Machine<Part1> && !CheckableMachine<Part1>);

// Commands its part again when the part reports a number above zero, with the next lower number.
class Whole {
 public:
  using Message = std::string;
  using Command = std::uint32_t;
  using Notice = std::string;
  using Parts = PartList<Part1, Part1>;  // a type may appear twice

  void start(Turn<Whole>& /*turn*/) {}
  void receive(Turn<Whole>& /*turn*/, NodeId /*from*/, const Message& /*message*/) {}
  void on_timer(Turn<Whole>& /*turn*/, TimerId /*timer*/) {}
  void command(Turn<Whole>& turn, const Command& command) {
    step_part_at(
        at(5s), turn, part_,
        [&](Part1& part, Turn<Part1>& inner) {
          inner_now_ = inner.now;
          part.command(inner, command);
        },
        [&](const Output<Part1>& output) {
          if (pass_on(turn, output, [](std::uint32_t n) { return fmt::format("message {}", n); }))
            return;
          if (output.kind == OutputKind::persist)
            turn.out.notify("record " + output.record);
          else if (output.notice > 0)
            this->command(turn, output.notice - 1);
        });
  }
  const Timers<Name>& timers() const { return part_.timers(); }
  const char* check() const { return nullptr; }
  Instant inner_now() const { return inner_now_; }

 private:
  Part1 part_;
  Instant inner_now_{};
};

TEST(Compose, PassesOutputsOnInTheirOrderAlsoWhenTheHandlerStepsThePartAgain) {
  Whole whole;
  Outbox<Whole> out;
  Stream stream;
  StreamDraw draw{stream};
  Turn<Whole> turn{at(1s), draw, out};
  whole.command(turn, 1);
  std::vector<std::string> seen;
  for (const Output<Whole>& output : out)
    seen.push_back(output.kind == OutputKind::notice ? output.notice : output.message);
  EXPECT_EQ(seen, (std::vector<std::string>{"record 1", "message 1", "record 0", "message 0",
                                            "message 0", "message 1"}));
  EXPECT_EQ(whole.inner_now(), at(5s));
}

TEST(JoinedTimers, AreNumberedConsecutively) {
  Timers<Name> low;
  Timers<Name> high;
  const auto joined = [&] { return JoinedTimers(low, high); };
  EXPECT_EQ(joined().size(), 4U);
  EXPECT_EQ(joined().first(), kNever);
  high.set(Name::second, at(1s));
  low.set(Name::second, at(2s));
  EXPECT_EQ(joined().first(), at(1s));
  EXPECT_EQ(joined().first_name(), TimerId{3});
  EXPECT_EQ(joined().at(TimerId{1}), at(2s));
  low.set(Name::first, at(1s));
  EXPECT_EQ(joined().first_name(), TimerId{0});  // the first set comes first
  std::size_t part = 9;
  TimerId name{9};
  joined().locate(TimerId{3}, [&]<std::size_t kPart>(Part<kPart>, TimerId own) {
    part = kPart;
    name = own;
  });
  EXPECT_EQ(part, 1U);
  EXPECT_EQ(name, TimerId{1});
}

TEST(SlotTimers, SkipEmptySlots) {
  std::array<std::optional<Timers<Name>>, 3> slots;
  const auto timers = [&] {
    return slot_timers<2>(slots, [](const Timers<Name>& slot) -> const auto& { return slot; });
  };
  EXPECT_EQ(timers().size(), 6U);
  EXPECT_EQ(timers().first(), kNever);
  slots[1].emplace();
  slots[2].emplace();
  slots[2]->set(Name::first, at(1s));
  EXPECT_EQ(timers().first_name(), TimerId{4});
  EXPECT_EQ(timers().at(TimerId{4}), at(1s));
  EXPECT_EQ(timers().at(TimerId{0}), kNever);
  slots[1]->set(Name::second, at(1s));
  EXPECT_EQ(timers().first_name(), TimerId{3});
}

}  // namespace
}  // namespace tempo
