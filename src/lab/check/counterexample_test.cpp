// The descriptions of counterexamples, with and without the caller's labels.
#include "lab/check/counterexample.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "machine/machine.h"
#include "machine/timers.h"

namespace tempo::check {
namespace {

// Two ticks after a message the lamp is lit, with a randomly drawn wattage.
struct Lamp {
  enum class Timer : std::uint8_t { light, count };
  struct Message {
    std::uint8_t watts = 0;
    static constexpr auto fields(auto list) { return list(field<&Message::watts>("watts")); }
  };
  using Command = Nothing;
  using Notice = Nothing;

  void start(Turn<Lamp>& turn) {
    if (first) turn.out.broadcast({static_cast<std::uint8_t>(5 + turn.draw.below(2))});
  }
  void receive(Turn<Lamp>& turn, NodeId /*from*/, const Message& message) {
    watts = message.watts;
    timers_.set(Timer::light, turn.now + 2ns);
  }
  void on_timer(Turn<Lamp>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    timers_.stop(Timer::light);
    lit = true;
  }
  void command(Turn<Lamp>& /*turn*/, const Command& /*command*/) {}
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }
  static constexpr auto fields(auto list) {
    return list(field<&Lamp::first>("first"), field<&Lamp::watts>("watts"),
                field<&Lamp::lit>("lit"), field<&Lamp::timers_>("timers"));
  }

  bool first = false;
  std::uint8_t watts = 0;
  bool lit = false;
  Timers<Timer> timers_{};
};

// The property "no lamp of 6 watts is ever lit", which does not hold.
struct Dark {
  using Machine = Lamp;
  struct View {
    std::uint8_t watts = 0;
  };
  Machine make(NodeId node, Incarnation /*incarnation*/) const {
    return {.first = node == NodeId{0}};
  }
  View view(const Machine& lamp) const { return {lamp.lit ? lamp.watts : std::uint8_t{0}}; }
  const char* broken(const Scene<View>& scene) const {
    for (const auto& slot : scene.slots)
      if (slot.view != nullptr && slot.view->watts == 6) return "dark";
    return nullptr;
  }
};

TEST(Counterexample, PrintsFieldsByDefault) {
  const Dark model;
  Space<Dark> space(model, {.nodes = 2, .delay_min = 3, .delay_max = 3});
  const Finding finding = Search<Dark>(space, {}).run();
  ASSERT_TRUE(finding.violation);
  EXPECT_EQ(finding.violation->property, "dark");
  EXPECT_THAT(describe_steps(space, finding.violation->prefix),
              testing::ElementsAre(
                  "1 starts, draws 1 = first=1 watts=0 lit=0 timers{timer=never}",
                  "2 starts = first=0 watts=0 lit=0 timers{timer=never}", "3 ticks",
                  "1->2 watts=6 arrives = first=0 watts=6 lit=0 timers{timer=+2ns}", "2 ticks",
                  "2's 1. timer fires = first=0 watts=6 lit=1 timers{timer=never}"));
}

struct ShortLabels : PlainLabels {
  static std::string timer(const Lamp& /*lamp*/, std::uint32_t /*timer*/) { return "only"; }
  static std::string state(const Lamp& lamp) { return lamp.lit ? "lit" : "dark"; }
};

TEST(Counterexample, UsesTheLabelsOfTheCaller) {
  const Dark model;
  Space<Dark> space(model, {.nodes = 2, .delay_min = 3, .delay_max = 3, .budget = {.losses = 1}});
  const Finding finding = Search<Dark>(space, {}).run();
  ASSERT_TRUE(finding.violation);
  EXPECT_EQ(describe_steps(space, finding.violation->prefix, ShortLabels{}).back(),
            "2's only timer fires = lit");
}

}  // namespace
}  // namespace tempo::check
