// A watch that records a Trace of any machine whose messages and states have names.
//
// `name_of(message)` names a message and `name_of(machine.state())` a state. A machine without
// states has no state lines.
#pragma once

#include <string_view>
#include <vector>

#include "lab/sim/trace.h"
#include "lab/sim/world.h"

namespace tempo::sim {

class Tracer : public NoWatch {
 public:
  explicit Tracer(bool keep) : trace_(keep) {}

  const Trace& trace() const { return trace_; }

  template <class World, class Message>
  void sent(const World& world, NodeId from, NodeId to, const Message& message,
            std::uint32_t number) {
    trace_.add({.at = world.now(),
                .what = What::sent,
                .node = from,
                .peer = to,
                .number = number,
                .label = name_of(message)});
  }
  template <class World, class Message>
  void lost(const World& world, NodeId from, NodeId to, const Message& message,
            std::uint32_t number) {
    trace_.add({.at = world.now(),
                .what = What::lost,
                .node = from,
                .peer = to,
                .number = number,
                .label = name_of(message)});
  }
  template <class World, class Message>
  void received(const World& world, NodeId from, NodeId to, const Message& message,
                std::uint32_t number, Instant sent) {
    trace_.add({.at = world.now(),
                .what = What::received,
                .node = from,
                .peer = to,
                .number = number,
                .sent = sent,
                .label = name_of(message)});
  }
  template <class World>
  void stepped(const World& world, NodeId id) {
    if constexpr (requires { name_of(world.machine(id).state()); }) {
      const std::string_view state = name_of(world.machine(id).state());
      if (states_.size() < world.size()) states_.resize(world.size());
      if (states_[index(id)] == state) return;
      states_[index(id)] = state;
      becomes(world, id, state);
    }
  }
  // Adds the line "node becomes label" now; for watches that record more than states.
  template <class World>
  void becomes(const World& world, NodeId id, std::string_view label) {
    trace_.add({.at = world.now(), .what = What::becomes, .node = id, .label = label});
  }
  template <class World>
  void disturbed(const World& world, NodeId id, const char* what) {
    if (id != kNobody && index(id) < states_.size()) {
      if (std::string_view{what} == "starts") states_[index(id)] = {};
    }
    trace_.add({.at = world.now(), .what = What::disturbed, .node = id, .label = what});
  }

 private:
  Trace trace_;
  std::vector<std::string_view> states_;  // last state of each node; empty: none yet
};

}  // namespace tempo::sim
