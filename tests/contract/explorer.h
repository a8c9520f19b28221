// A small explorer: every order of events in a world of a few machines.
//
// Breadth first, so that the first broken promise comes with the shortest way to it. Whatever is
// under way may arrive next, or be lost while the budget lasts; whatever timer is set may fire
// next, and its node's clock then shows that timer's deadline ("free" timing: the clocks run at any
// rates); whatever command is left may be given; whatever a machine draws, it draws every value. A
// state is what the field lists pack, with what is under way and what is left of the budgets.
// Copies of one message on one link are one: a network that may repeat a message need not carry it
// twice.
//
// Besides the machines' own checks and the caller's, every state is asked whether its timers keep
// their promise that waking them early does no harm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "lab/check/choices.h"
#include "machine/machine.h"

namespace tempo::toys {

// Packs a machine; a timer that is overdue is due, by whatever time: clocks run at any rates here.
class TimelessPacker : public FieldWalk<TimelessPacker> {
 public:
  explicit TimelessPacker(Packer& packer) : packer_(&packer) {}
  template <class T>
  void leaf(const char* name, T& value) {
    packer_->leaf(name, value);
  }

 private:
  Packer* packer_;
};

template <class M>
std::string timeless(const M& machine, Instant now) {
  std::string bytes;
  Packer packer{now, bytes};
  TimelessPacker visitor{packer};
  M::fields(machine, visitor);
  return bytes;
}

template <Machine M>
class Explorer {
 public:
  struct Flight {
    NodeId from;
    NodeId to;
    typename M::Message message;
  };
  struct State {
    std::vector<M> machines;
    std::vector<Instant> now;               // of each machine's own clock
    std::map<std::string, Flight> flights;  // by what they pack to
    std::vector<bool> given;                // of the commands
    std::uint32_t losses = 0;
  };
  static constexpr std::uint32_t kAnyNumber = 0xffffffff;
  struct Options {
    std::vector<M> machines;
    std::vector<std::pair<NodeId, typename M::Command>> commands{};  // each may be given once
    std::uint32_t losses = 0;                                        // at most
    std::size_t most_states = 1'000'000;
    std::function<const char*(const State&)> property = [](const State&) { return nullptr; };
  };
  struct Finding {
    bool complete = false;  // all states were seen, and none was broken
    std::size_t states = 0;
    std::size_t steps = 0;          // from a state to a state, new or not
    std::string broken;             // the promise, empty if all were kept
    std::vector<std::string> path;  // to where it was broken
  };

  explicit Explorer(Options options) : options_(std::move(options)) {}

  Finding explore() {
    State root{.machines = options_.machines,
               .now = std::vector<Instant>(options_.machines.size()),
               .flights = {},
               .given = std::vector<bool>(options_.commands.size()),
               .losses = 0};
    branch(root, kNowhere, "start", [&](State& next, Draw& draw) {
      for (std::size_t i = 0; i < next.machines.size(); ++i)
        step(next, i, draw, [](M& machine, Turn<M>& turn) { machine.start(turn); });
    });
    for (std::size_t at = 0; at < visits_.size() && finding_.broken.empty(); ++at) {
      CHECK(visits_.size() < options_.most_states);
      const State state = visits_[at].state;  // a copy: new visits move the old
      deliver_and_lose(state, at);
      fire(state, at);
      give_commands(state, at);
    }
    finding_.complete = finding_.broken.empty();
    finding_.states = visits_.size();
    return finding_;
  }

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  struct Visit {
    State state;
    std::size_t from = kNowhere;  // the visit before, or nowhere
    std::string how;
  };

  void deliver_and_lose(const State& state, std::size_t at) {
    for (const auto& [key, flight] : state.flights) {
      const std::string text = fmt::format("{}->{} {{{}}}", index(flight.from), index(flight.to),
                                           printed(flight.message, {}));
      branch(state, at, "deliver " + text, [&](State& next, Draw& draw) {
        next.flights.erase(key);
        step(next, index(flight.to), draw, [&](M& machine, Turn<M>& turn) {
          machine.receive(turn, flight.from, flight.message);
        });
      });
      if (state.losses == options_.losses) continue;
      branch(state, at, "lose " + text, [&](State& next, Draw&) {
        next.flights.erase(key);
        if (options_.losses != kAnyNumber) ++next.losses;
      });
    }
  }

  void fire(const State& state, std::size_t at) {
    for (std::size_t i = 0; i < state.machines.size(); ++i) {
      const auto& timers = state.machines[i].timers();
      for (std::size_t name = 0; name < timers.size(); ++name) {
        const Instant when = timers.at(timer_id(name));
        if (when == kNever) continue;
        if (when > state.now[i] && early_wake_harms(state, i, timer_id(name)))
          return report("a timer woken early does no harm", at);
        branch(state, at, fmt::format("fire {} timer {}", i, name), [&](State& next, Draw& draw) {
          next.now[i] = std::max(next.now[i], when);
          step(next, i, draw,
               [&](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer_id(name)); });
        });
      }
    }
  }

  void give_commands(const State& state, std::size_t at) {
    for (std::size_t i = 0; i < options_.commands.size(); ++i) {
      if (state.given[i]) continue;
      const auto& [node, command] = options_.commands[i];
      const std::string text = fmt::format("command {} {{{}}}", index(node), printed(command, {}));
      branch(state, at, text, [&](State& next, Draw& draw) {
        next.given[i] = true;
        step(next, index(node), draw,
             [&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
      });
    }
  }

  // Does one thing once for every way the draws in it can fall.
  template <class Do>
  void branch(const State& state, std::size_t from, const std::string& how, Do todo) {
    check::EveryDraw draw;
    do {
      if (!finding_.broken.empty()) return;
      State next = state;
      todo(next, draw);
      ++finding_.steps;
      admit(std::move(next), from, how + text_of(draw));
    } while (draw.advance());
  }

  static std::string text_of(const check::EveryDraw& draw) {
    std::string text;
    for (const std::uint32_t value : draw.values()) text += fmt::format(" draws {}", value);
    return text;
  }

  template <class Do>
  void step(State& state, std::size_t node, Draw& draw, Do todo) {
    outbox_.clear();
    Turn<M> turn{state.now[node], draw, outbox_};
    todo(state.machines[node], turn);
    for (const Output<M>& output : outbox_)
      for (std::size_t to = 0; output.kind != OutputKind::notice && to < state.machines.size();
           ++to)
        if (output.kind == OutputKind::send ? node_at(to) == output.to : to != node)
          launch(state, {.from = node_at(node), .to = node_at(to), .message = output.message});
  }

  static void launch(State& state, const Flight& flight) {
    std::string key{static_cast<char>(index(flight.from)), static_cast<char>(index(flight.to))};
    state.flights.emplace(key + packed(flight.message, {}), flight);
  }

  void admit(State state, std::size_t from, const std::string& how) {
    std::string key{static_cast<char>(state.losses), static_cast<char>(state.flights.size())};
    for (const auto& flight : state.flights) key += flight.first;
    for (const bool given : state.given) key += given ? '1' : '0';
    for (std::size_t i = 0; i < state.machines.size(); ++i)
      key += timeless(state.machines[i], state.now[i]);
    if (!seen_.insert(std::move(key)).second) return;

    const char* broken = options_.property(state);
    for (const M& machine : state.machines)
      if (broken == nullptr) broken = machine.check();
    visits_.push_back({.state = std::move(state), .from = from, .how = how});
    if (broken != nullptr) report(broken, visits_.size() - 1);
  }

  bool early_wake_harms(const State& state, std::size_t node, TimerId timer) {
    State next = state;
    check::EveryDraw draw;
    step(next, node, draw, [&](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer); });
    return !outbox_.empty() || timeless(next.machines[node], next.now[node]) !=
                                   timeless(state.machines[node], state.now[node]);
  }

  void report(const char* broken, std::size_t at) {
    finding_.broken = broken;
    for (; at != kNowhere; at = visits_[at].from) finding_.path.push_back(visits_[at].how);
    std::ranges::reverse(finding_.path);
  }

  Options options_;
  Outbox<M> outbox_;
  std::vector<Visit> visits_;  // bounded by most_states
  std::unordered_set<std::string> seen_;
  Finding finding_;
};

}  // namespace tempo::toys
