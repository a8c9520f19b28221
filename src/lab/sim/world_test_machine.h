// A machine that does what it is told and says what it hears, and a World of such machines with a
// diary: what the World's tests have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "lab/sim/trace.h"
#include "lab/sim/world.h"

namespace tempo::sim {

struct Word {
  std::uint32_t number = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("number", self.number);
  }
};
inline std::string_view name_of(const Word&) { return "word"; }

class ScriptedMachine {
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

  explicit ScriptedMachine(Incarnation incarnation) : incarnation_(incarnation) {}

  void start(Turn<ScriptedMachine>&) {}
  void receive(Turn<ScriptedMachine>& turn, NodeId from, const Message& message) {
    ++heard_;
    turn.out.notify({.what = Notice::What::heard, .from = from, .number = message.number});
  }
  void on_timer(Turn<ScriptedMachine>& turn, TimerId timer) {
    timers_.stop(static_cast<Timer>(timer));
    turn.out.notify({.what = Notice::What::woke, .number = std::to_underlying(timer)});
  }
  void command(Turn<ScriptedMachine>& turn, const Command& command) {
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
        turn.out.notify({.what = Notice::What::drew,
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
    visit("incarnation", self.incarnation_);
    visit("heard", self.heard_);
    visit("timers", self.timers_);
  }

 private:
  Incarnation incarnation_;
  int heard_ = 0;
  Timers<Timer> timers_;
};

using Do = ScriptedMachine::Command::What;

// Writes down what nodes notice, in milliseconds: "1 2 hears 7 from 1".
class Diary : public NoWatch {
 public:
  template <class World>
  void noticed(const World& world, NodeId id, const ScriptedMachine::Notice& notice) {
    const std::string who = fmt::format("{} {}", milliseconds(world.now()), index(id) + 1);
    switch (notice.what) {
      case ScriptedMachine::Notice::What::heard:
        lines.push_back(
            fmt::format("{} hears {} from {}", who, notice.number, index(notice.from) + 1));
        arrivals[notice.number].push_back(world.now());
        break;
      case ScriptedMachine::Notice::What::woke:
        lines.push_back(fmt::format("{} wakes for {}", who, notice.number));
        break;
      case ScriptedMachine::Notice::What::drew:
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

inline Link steady(Nanos delay) {
  Link link;
  link.delay = Delay::constant(delay);
  return link;
}

// A World with its diary, and shorter words for what the tests do.
template <class Watch>
struct TestRun {
  using Sim = World<ScriptedMachine, Watch>;
  Watch watch;
  Sim world;

  explicit TestRun(const typename Sim::Options& options, Watch watcher = {})
      : watch(std::move(watcher)),
        world(
            options, [](NodeId, Incarnation incarnation) { return ScriptedMachine(incarnation); },
            watch) {}
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;
  ~TestRun() = default;

  void start_all() {
    for (std::uint32_t i = 0; i < world.size(); ++i) world.start(NodeId{i});
  }
  void say(int from, int to, std::uint32_t number) {
    world.command(node(from),
                  {.what = Do::say, .to = to == 0 ? kNobody : node(to), .number = number});
  }
  void set(int who, Do timer, Nanos span) {
    world.command(node(who), {.what = timer, .span = span});
  }
  void run(Nanos until) { world.run_until(Instant{until}); }
  static NodeId node(int number) { return node_at(static_cast<std::size_t>(number) - 1); }
};
using RecordedRun = TestRun<Diary>;

inline constexpr NodeId kOne{0};
inline constexpr NodeId kTwo{1};
inline constexpr NodeId kThree{2};

inline Link varying() {
  Link link;
  link.delay = *Delay::parse("uniform:100us..2ms");
  link.lateness = *Delay::parse("uniform:10ms..20ms");
  return link;
}

// Nothing goes from any of these pairs' first to its second.
inline std::vector<bool> partition(std::uint32_t nodes,
                                   const std::vector<std::pair<int, int>>& pairs) {
  std::vector<bool> all(std::size_t{nodes} * nodes);
  for (const auto& [from, to] : pairs)
    all[index(RecordedRun::node(from)) * nodes + index(RecordedRun::node(to))] = true;
  return all;
}

}  // namespace tempo::sim
