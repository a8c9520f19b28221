#include "machine/machine.h"

#include <concepts>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace tempo {
namespace {

struct FlatMessage {
  std::uint32_t value = 0;

  static constexpr auto fields(auto list) { return list(field<&FlatMessage::value>("value")); }
};

// The smallest class that satisfies Machine, if kHasTimerHandler and MessageType is flat.
template <class MessageType, bool kHasTimerHandler = true, class TimerTime = Instant>
class MinimalMachine {
 public:
  using Message = MessageType;
  using Command = Nothing;
  using Notice = FlatMessage;
  enum class Timer : std::uint8_t { never, count };

  void start(Turn<MinimalMachine>&) {}
  void receive(Turn<MinimalMachine>&, NodeId, const Message&) {}
  void on_timer(Turn<MinimalMachine>&, TimerId)
    requires kHasTimerHandler
  {}
  void command(Turn<MinimalMachine>&, const Command&) {}
  const Timers<Timer, TimerTime>& timers() const { return timers_; }
  const char* check() const { return nullptr; }

  static constexpr auto fields(auto list) {
    return list(field<&MinimalMachine::timers_>("timers"));
  }
  friend FieldCheck;

 private:
  Timers<Timer, TimerTime> timers_;
};

struct MessageWithVector : FlatMessage {
  std::vector<std::uint32_t> more;
};

using IdleMachine = MinimalMachine<FlatMessage>;
static_assert(CheckableMachine<IdleMachine>);
static_assert(!Machine<MinimalMachine<FlatMessage, false>>);
static_assert(!CheckableMachine<MinimalMachine<MessageWithVector>>);
static_assert(!Machine<MinimalMachine<FlatMessage, true, BootTime>>);  // it says no `Time`

// Leases run on boot time, synchronization on raw time; mixing them does not compile.
template <class One, class Other>
concept Mixes = requires(One one, Other other) { one - other; } ||
                requires(One one, Other other) { one < other; } ||
                requires(One one, Other other) { one == other; } ||
                std::constructible_from<One, Other> || std::assignable_from<One&, Other>;
static_assert(Mixes<Instant, Instant> && Mixes<BootTime, BootTime>);
static_assert(!Mixes<Instant, BootTime> && !Mixes<BootTime, Instant>);
static_assert(!Mixes<WallTime, BootTime> && !Mixes<BootTime, WallTime>);
static_assert(!Mixes<Instant, WallTime> && !Mixes<WallTime, Instant>);
static_assert(Instant{kNever} == kNever && BootTime{kNever} == kNever && BootTime{} != kNever);
static_assert(on_clock<BootTime>(Instant{5s}, 2s) == BootTime{7s});
static_assert(on_clock<BootTime>(Instant{kNever}, 2s) == kNever);
static_assert(clock_offset(BootTime{7s}, Instant{5s}) == 2s);

TEST(Outbox, KeepsTheOrder) {
  Outbox<IdleMachine> out;
  out.notify({1});
  out.send(node_at(2), {3});
  out.broadcast({4});
  ASSERT_EQ(out.size(), 3U);
  const Output<IdleMachine>* output = out.begin();
  EXPECT_EQ(output->kind, OutputKind::notice);
  EXPECT_EQ(output->notice.value, 1U);
  ++output;
  EXPECT_EQ(output->kind, OutputKind::send);
  EXPECT_EQ(output->to, node_at(2));
  EXPECT_EQ(output->message.value, 3U);
  ++output;
  EXPECT_EQ(output->kind, OutputKind::broadcast);
  EXPECT_EQ(output->message.value, 4U);
  EXPECT_EQ(++output, out.end());
}

TEST(Outbox, ReusesItsMemory) {
  Outbox<IdleMachine> out;
  for (std::uint32_t i = 0; i < 10; ++i) out.broadcast({i});
  const Output<IdleMachine>* memory = out.begin();
  out.clear();
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.begin(), out.end());
  for (std::uint32_t i = 0; i < 10; ++i) out.notify({100 + i});
  EXPECT_EQ(out.begin(), memory);
  EXPECT_EQ(out.size(), 10U);
  EXPECT_EQ(out.begin()->kind, OutputKind::notice);
  EXPECT_EQ(out.begin()->notice.value, 100U);
}

TEST(OutboxDeathTest, IsBounded) {
  Outbox<IdleMachine> out;
  for (std::uint32_t i = 0; i < 4 * kMaxNodes; ++i) out.broadcast({i});
  EXPECT_DEATH(out.broadcast({}), "kMaxOutputs");
}

}  // namespace
}  // namespace tempo
