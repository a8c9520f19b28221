// Shared by the tests of World: a machine that obeys commands and reports what it receives, and a
// World of such machines with a recorder.
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
#include "machine/field_list.h"

namespace tempo::sim {

struct TestMessage {
  std::uint32_t number = 0;

  static constexpr auto fields(auto list) { return list(field<&TestMessage::number>("number")); }
};
inline std::string_view name_of(const TestMessage&) { return "word"; }

class ScriptedMachine {
 public:
  using Message = TestMessage;
  struct Command {
    enum class What : std::uint8_t { send, set_first, set_second, draw } what = What::send;
    NodeId to = kNobody;       // send: kNobody broadcasts
    std::uint32_t number = 0;  // send: number of the message; draw: upper limit
    Nanos span{0};             // set_first, set_second: time until the timer fires
  };
  struct Notice {
    enum class What : std::uint8_t { received, woke, drew } what = What::received;
    NodeId from = kNobody;
    std::uint32_t number = 0;  // number of the message, the timer or the draw
  };
  enum class Timer : std::uint8_t { first, second, count };

  explicit ScriptedMachine(Incarnation incarnation) : incarnation_(incarnation) {}

  void start(Turn<ScriptedMachine>&) {}
  void receive(Turn<ScriptedMachine>& turn, NodeId from, const Message& message) {
    ++received_;
    turn.out.notify({.what = Notice::What::received, .from = from, .number = message.number});
  }
  void on_timer(Turn<ScriptedMachine>& turn, TimerId timer) {
    timers_.stop(static_cast<Timer>(timer));
    turn.out.notify({.what = Notice::What::woke, .number = std::to_underlying(timer)});
  }
  void command(Turn<ScriptedMachine>& turn, const Command& command) {
    switch (command.what) {
      case Command::What::send:
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
  int received_count() const { return received_; }
  Incarnation incarnation() const { return incarnation_; }

  static constexpr auto fields(auto list) {
    using M = ScriptedMachine;
    return list(field<&M::incarnation_>("incarnation"), field<&M::received_>("heard"),
                field<&M::timers_>("timers"));
  }
  friend FieldCheck;

 private:
  Incarnation incarnation_;
  int received_ = 0;
  Timers<Timer> timers_;
};

using Do = ScriptedMachine::Command::What;

// Records the notices of all nodes, with times in milliseconds: "1 2 receives 7 from 1".
class Recorder : public NoWatch {
 public:
  template <class World>
  void noticed(const World& world, NodeId id, const ScriptedMachine::Notice& notice) {
    const std::string node = fmt::format("{} {}", milliseconds(world.now()), index(id) + 1);
    switch (notice.what) {
      case ScriptedMachine::Notice::What::received:
        lines.push_back(
            fmt::format("{} receives {} from {}", node, notice.number, index(notice.from) + 1));
        arrivals[notice.number].push_back(world.now());
        break;
      case ScriptedMachine::Notice::What::woke:
        lines.push_back(fmt::format("{} wakes for {}", node, notice.number));
        break;
      case ScriptedMachine::Notice::What::drew:
        lines.push_back(fmt::format("{} draws {}", node, notice.number));
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
    lines.push_back(fmt::format("nobody receives {} at {}", message.number, index(to) + 1));
  }
  template <class World>
  void disturbed(const World&, NodeId id, const char* what) {
    disturbances.push_back(id == kNobody ? what : fmt::format("{} {}", index(id) + 1, what));
  }

  std::vector<std::string> lines;
  std::map<std::uint32_t, std::vector<Instant>> arrivals;  // arrival times of each message number
  std::set<std::uint32_t> losses;
  std::vector<std::uint32_t> numbers;  // transmission numbers
  std::vector<std::string> disturbances;
};

using Lines = std::vector<std::string>;

inline Link steady(Nanos delay) {
  Link link;
  link.delay = Delay::constant(delay);
  return link;
}

// A World with its recorder, and shorthands for the tests.
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
  void send(int from, int to, std::uint32_t number) {
    world.command(node(from),
                  {.what = Do::send, .to = to == 0 ? kNobody : node(to), .number = number});
  }
  void set(int number, Do timer, Nanos span) {
    world.command(node(number), {.what = timer, .span = span});
  }
  void run(Nanos until) { world.run_until(Instant{until}); }
  static NodeId node(int number) { return node_at(static_cast<std::size_t>(number) - 1); }
};
using RecordedRun = TestRun<Recorder>;

inline constexpr NodeId kOne{0};
inline constexpr NodeId kTwo{1};
inline constexpr NodeId kThree{2};

inline Link varying() {
  Link link;
  link.delay = *Delay::parse("uniform:100us..2ms");
  link.lateness = *Delay::parse("uniform:10ms..20ms");
  return link;
}

// Blocks the messages from the first to the second node of each pair.
inline std::vector<bool> partition(std::uint32_t nodes,
                                   const std::vector<std::pair<int, int>>& pairs) {
  std::vector<bool> all(std::size_t{nodes} * nodes);
  for (const auto& [from, to] : pairs)
    all[index(RecordedRun::node(from)) * nodes + index(RecordedRun::node(to))] = true;
  return all;
}

}  // namespace tempo::sim
