// Example: model-check a lock that relies on timing. A node asks all others and enters after three
// ticks, unless a node with a lower number asks meanwhile. The program checks mutual exclusion with
// message delays of up to 2 and up to 4 ticks.
#include <cstdio>
#include <string>

#include "lab/check/counterexample.h"
#include "lab/check/explore.h"

using namespace tempo;

struct Lock {
  enum class Timer : std::uint8_t { enter, count };
  struct Message {  // request to enter
    static constexpr auto fields(auto list) { return list(); }
  };
  using Command = Nothing;
  using Notice = Nothing;

  void start(Turn<Lock>& turn) {
    turn.out.broadcast({});
    timers_.set(Timer::enter, turn.now + 3ns);
  }
  void receive(Turn<Lock>& /*turn*/, NodeId from, const Message& /*message*/) {
    if (!inside && from < self) timers_.stop(Timer::enter);  // the lower number has priority
  }
  void on_timer(Turn<Lock>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    timers_.stop(Timer::enter);
    inside = true;
  }
  void command(Turn<Lock>& /*turn*/, const Command& /*command*/) {}
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }
  static constexpr auto fields(auto list) {
    return list(field<&Lock::self>("self"), field<&Lock::inside>("inside"),
                field<&Lock::timers_>("timers"));
  }

  NodeId self;
  bool inside = false;
  Timers<Timer> timers_{};
};

struct Exclusion {
  using Machine = Lock;
  using View = bool;
  Machine make(NodeId node, Incarnation /*incarnation*/) const { return {.self = node}; }
  View view(const Machine& lock) const { return lock.inside; }
  const char* broken(const check::Scene<View>& scene) const {
    int inside = 0;
    for (const auto& slot : scene.slots) inside += slot.view != nullptr && *slot.view ? 1 : 0;
    return inside > 1 ? "mutual exclusion" : nullptr;
  }
};

int main() {
  for (const std::uint8_t longest : {2, 4}) {
    const Exclusion model;
    check::Space<Exclusion> space(model, {.nodes = 3, .delay_max = longest});
    const check::Finding finding = check::Search<Exclusion>(space, {}).run();
    std::printf("delays up to %d: %llu states, %s\n", longest,
                static_cast<unsigned long long>(finding.states),
                finding.violation ? finding.violation->property.c_str() : "safe");
    if (!finding.violation) continue;
    for (const std::string& step : check::describe_steps(space, finding.violation->prefix))
      std::printf("  %s\n", step.c_str());
  }
}
