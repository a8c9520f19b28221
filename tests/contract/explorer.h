// A small explorer: runs every order of events in a world of a few machines.
//
// The search is breadth first, so that the first violation comes with a shortest path to it. In
// each state any message in flight may arrive, or be lost while the budget lasts; any timer that is
// set may fire, and the clock of its node then shows the timer's deadline ("free" timing: clocks
// run at any rate); any remaining command may be given; each draw takes every value. A state
// consists of the packed field lists, the messages in flight and the remaining budgets. Copies of a
// message on one link count as one.
//
// In every state the explorer runs the checks of the machines and of the caller, and tests that an
// early on_timer does no harm.
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

// Packs a machine without the overdue time of its timers, because clocks run at any rate here.
class TimelessPacker : public FieldWalk<TimelessPacker> {
 public:
  explicit TimelessPacker(Packer<Instant>& packer) : packer_(&packer) {}
  template <class T>
  void leaf(const char* name, T& value) {
    packer_->leaf(name, value);
  }

 private:
  Packer<Instant>* packer_;
};

template <class M>
std::string timeless(const M& machine, Instant now) {
  std::string bytes;
  Packer packer{now, bytes};
  TimelessPacker visitor{packer};
  visit_fields(machine, visitor);
  return bytes;
}

template <CheckableMachine M>
class Explorer {
 public:
  struct Flight {
    NodeId from;
    NodeId to;
    typename M::Message message;
  };
  struct State {
    std::vector<M> machines;
    std::vector<Instant> now;               // clock of each machine
    std::map<std::string, Flight> flights;  // messages in flight, by their packed form
    std::vector<bool> given;                // for each command: it was given
    std::uint32_t losses = 0;               // messages lost
  };
  static constexpr std::uint32_t kAnyNumber = 0xffffffff;
  struct Options {
    std::vector<M> machines;
    std::vector<std::pair<NodeId, typename M::Command>> commands{};  // each may be given once
    std::uint32_t losses = 0;  // maximum; kAnyNumber: no limit
    std::size_t max_states = 1'000'000;
    std::function<const char*(const State&)> property = [](const State&) { return nullptr; };
  };
  struct Finding {
    bool complete = false;  // all states were visited without a violation
    std::size_t states = 0;
    std::size_t steps = 0;          // transitions, to new and to known states
    std::string broken;             // the violated property; empty: none
    std::vector<std::string> path;  // steps to the violation
  };

  explicit Explorer(Options options) : options_(std::move(options)) {}

  Finding explore() {
    State root{.machines = options_.machines,
               .now = std::vector<Instant>(options_.machines.size()),
               .flights = {},
               .given = std::vector<bool>(options_.commands.size()),
               .losses = 0};
    branch(root, kNoVisit, "start", [&](State& next, Draw& draw) {
      for (std::size_t i = 0; i < next.machines.size(); ++i)
        step(next, i, draw, [](M& machine, Turn<M>& turn) { machine.start(turn); });
    });
    for (std::size_t at = 0; at < visits_.size() && finding_.broken.empty(); ++at) {
      CHECK(visits_.size() < options_.max_states);
      const State state = visits_[at].state;  // a copy: visits_ may reallocate
      deliver_and_lose(state, at);
      fire(state, at);
      give_commands(state, at);
    }
    finding_.complete = finding_.broken.empty();
    finding_.states = visits_.size();
    return finding_;
  }

 private:
  static constexpr std::size_t kNoVisit = ~std::size_t{0};
  struct Visit {
    State state;
    std::size_t from = kNoVisit;  // index of the previous visit; kNoVisit: none
    std::string how;              // the step to this state
  };

  void deliver_and_lose(const State& state, std::size_t at) {
    for (const auto& [key, flight] : state.flights) {
      const std::string text = fmt::format("{}->{} {{{}}}", index(flight.from), index(flight.to),
                                           printed(flight.message, Instant{}));
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
        if (when > state.now[i] && early_timer_harms(state, i, timer_id(name)))
          return report("an early on_timer does no harm", at);
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
      const std::string text =
          fmt::format("command {} {{{}}}", index(node), printed(command, Instant{}));
      branch(state, at, text, [&](State& next, Draw& draw) {
        next.given[i] = true;
        step(next, index(node), draw,
             [&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
      });
    }
  }

  // Runs an action once for every combination of its draws.
  template <class Do>
  void branch(const State& state, std::size_t from, const std::string& how, Do action) {
    check::EveryDraw draw;
    do {
      if (!finding_.broken.empty()) return;
      State next = state;
      action(next, draw);
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
  void step(State& state, std::size_t node, Draw& draw, Do action) {
    outbox_.clear();
    Turn<M> turn{state.now[node], draw, outbox_};
    action(state.machines[node], turn);
    for (const Output<M>& output : outbox_)
      for (std::size_t to = 0; output.kind != OutputKind::notice && to < state.machines.size();
           ++to)
        if (output.kind == OutputKind::send ? node_at(to) == output.to : to != node)
          launch(state, {.from = node_at(node), .to = node_at(to), .message = output.message});
  }

  static void launch(State& state, const Flight& flight) {
    std::string key{static_cast<char>(index(flight.from)), static_cast<char>(index(flight.to))};
    state.flights.emplace(key + packed(flight.message, Instant{}), flight);
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

  bool early_timer_harms(const State& state, std::size_t node, TimerId timer) {
    State next = state;
    check::EveryDraw draw;
    step(next, node, draw, [&](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer); });
    return !outbox_.empty() || timeless(next.machines[node], next.now[node]) !=
                                   timeless(state.machines[node], state.now[node]);
  }

  void report(const char* broken, std::size_t at) {
    finding_.broken = broken;
    for (; at != kNoVisit; at = visits_[at].from) finding_.path.push_back(visits_[at].how);
    std::ranges::reverse(finding_.path);
  }

  Options options_;
  Outbox<M> outbox_;
  std::vector<Visit> visits_;  // at most max_states
  std::unordered_set<std::string> seen_;
  Finding finding_;
};

}  // namespace tempo::toys
