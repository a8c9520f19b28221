#include "machine/machine.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace tempo {
namespace {

struct Word {
  std::uint32_t value = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("value", self.value);
  }
};

// The least that is a machine, if it has all its doors and its messages are flat.
template <class Said, bool kWakes = true>
class Least {
 public:
  using Message = Said;
  using Command = Nothing;
  using Notice = Word;
  enum class Timer : std::uint8_t { never, count };

  void start(Turn<Least>&) {}
  void receive(Turn<Least>&, NodeId, const Message&) {}
  void on_timer(Turn<Least>&, TimerId)
    requires kWakes
  {}
  void command(Turn<Least>&, const Command&) {}
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("timers", self.timers_);
  }

 private:
  Timers<Timer> timers_;
};

struct Sentence : Word {
  std::vector<std::uint32_t> more;
};

using Still = Least<Word>;
static_assert(Machine<Still>);
static_assert(!Machine<Least<Word, false>>);
static_assert(!Machine<Least<Sentence>>);

TEST(Outbox, KeepsTheOrder) {
  Outbox<Still> out;
  out.notify({1});
  out.send(node_at(2), {3});
  out.broadcast({4});
  ASSERT_EQ(out.size(), 3U);
  const Output<Still>* output = out.begin();
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

TEST(Outbox, UsesItsMemoryAgain) {
  Outbox<Still> out;
  for (std::uint32_t i = 0; i < 10; ++i) out.broadcast({i});
  const Output<Still>* memory = out.begin();
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
  Outbox<Still> out;
  for (std::uint32_t i = 0; i < 4 * kMaxNodes; ++i) out.broadcast({i});
  EXPECT_DEATH(out.broadcast({}), "kMostOutputs");
}

}  // namespace
}  // namespace tempo
