#include "lab/sim/tracer.h"

#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "lab/sim/world_test_machine.h"
#include "machine/field_list.h"

namespace tempo::sim {
namespace {

struct Nothing {
  static constexpr auto fields(auto list) { return list(); }
};
[[maybe_unused]] std::string_view name_of(const Nothing&) { return "nothing"; }

enum class Mood : std::uint8_t { calm, cross };
std::string_view name_of(Mood mood) { return mood == Mood::calm ? "calm" : "cross"; }

// A machine that is calm until a command makes it cross.
class Moody {
 public:
  using Message = Nothing;
  using Command = Mood;
  using Notice = Nothing;
  enum class Timer : std::uint8_t { never, count };

  void start(Turn<Moody>&) {}
  void receive(Turn<Moody>&, NodeId, const Message&) {}
  void on_timer(Turn<Moody>&, TimerId) {}
  void command(Turn<Moody>&, Mood mood) { mood_ = mood; }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }
  Mood state() const { return mood_; }

  static constexpr auto fields(auto list) {
    return list(field<&Moody::mood_>("mood"), fixed<&Moody::timers_>());
  }
  friend FieldCheck;

 private:
  Mood mood_ = Mood::calm;
  Timers<Timer> timers_;
};

// A state is recorded when it changes and again in every incarnation.
TEST(Tracer, RecordsStateChanges) {
  Tracer tracer(true);
  World<Moody, Tracer> world({.nodes = 2}, [](NodeId, Incarnation) { return Moody(); }, tracer);
  world.start(kOne);
  world.start(kTwo);
  world.run_until(Instant{1ms});
  world.command(kOne, Mood::calm);
  world.command(kOne, Mood::cross);
  world.command(kOne, Mood::cross);
  world.crash(kTwo);
  world.start(kTwo);
  EXPECT_EQ(text(tracer.trace(), true),
            "0 1 starts\n0 1 becomes calm\n0 2 starts\n0 2 becomes calm\n1 1 becomes cross\n"
            "1 2 crashes\n1 2 starts\n1 2 becomes calm\n");
}

TEST(Tracer, RecordsMessagesAndPartitions) {
  TestRun<Tracer> run({.nodes = 2, .link = steady(1ms)}, Tracer(true));
  run.start_all();
  run.send(1, 0, 7);
  run.run(2ms);
  run.world.set_partition(partition(2, {{1, 2}}));
  run.send(1, 2, 8);
  EXPECT_EQ(text(run.watch.trace(), true),
            "0 1 starts\n0 2 starts\n0 1->* word\n1 1->2 word received\n2 network: cut\n2 1->2 "
            "word\n2 1->2 word lost\n");
  const Happening& received = run.watch.trace().happenings()[3];
  EXPECT_EQ(received.sent, Instant{});
  EXPECT_EQ(received.number, 1U);
  run.world.set_partition({});
  run.send(1, 2, 9);
  run.run(4ms);
  EXPECT_EQ(run.watch.trace().happenings().back().sent, Instant{2ms});
  EXPECT_EQ(run.watch.trace().happenings().back().number, 3U);
}

}  // namespace
}  // namespace tempo::sim
