// The definition of a check: the freedom of the world and the model of the machine.
//
// A Model names the machine and its properties:
//
//     struct Model {
//       using Machine = ...;
//       struct View { ... };              the data for properties, kept per local state
//       Machine make(NodeId, Incarnation) const;
//       View view(const Machine&) const;   or view(const Machine&, Time now)
//       const char* broken(const Scene<View>&) const;   null, or the violated property
//     };
//
// It may add
//
//       void started(Machine&, NodeId, Turn<Machine>&) const;   extra input at the start
//       const char* broken_step(const Machine& before, const Machine& after,
//                               std::span<const Notice>) const;      property of a single step
//       const char* broken_move(const Scene<View>& before, const Scene<View>& after, NodeId) const;
//       bool good(const Scene<View>&) const;  a stable good state must stay reachable
//       bool remember(const Scene<View>& before, Scene<View>& after, NodeId) const;   see Memory
//       static constexpr bool kSymmetric = true;  the machine never compares node numbers
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "lab/check/numbers.h"

namespace tempo::check {

enum class Timing : std::uint8_t {
  bounded,  // one clock in whole ticks; delays within two bounds; timers fire when due
  free,     // a set timer may fire and a message may arrive at any time
};

enum class Network : std::uint8_t {
  bag,      // any order
  fifo,     // each link keeps its order
  set,      // any order; equal messages on one link count once
  ordered,  // a broadcast reaches all or none; all nodes receive broadcasts in the same order
};

// How often each fault may happen in a run.
struct Budget {
  static constexpr std::uint8_t kAnyNumber = 255;

  std::uint8_t losses = 0;
  std::uint8_t duplicates = 0;
  std::uint8_t crashes = 0;
  std::uint8_t restarts = 0;
  std::uint8_t pauses = 0;
  std::uint8_t drifts = 0;  // a clock gains or loses a tick

  bool operator==(const Budget&) const = default;
  // Called on the whole budget: the part spent when `left` remains.
  Budget operator-(const Budget& left) const {
    const auto less = [](std::uint8_t all, std::uint8_t remaining) {
      return static_cast<std::uint8_t>(all - remaining);
    };
    return {less(losses, left.losses),   less(duplicates, left.duplicates),
            less(crashes, left.crashes), less(restarts, left.restarts),
            less(pauses, left.pauses),   less(drifts, left.drifts)};
  }
};

struct Freedom {
  std::uint32_t nodes = 2;
  Timing timing = Timing::bounded;
  Network network = Network::bag;
  std::uint8_t delay_min = 1;  // ticks
  std::uint8_t delay_max = 2;
  std::array<std::uint8_t, kMaxNodes> starts{};  // tick of each node's first start
  // Until this tick the network carries nothing between the nodes of `side` (one bit each) and the
  // others.
  std::uint8_t cut_until = 0;
  std::uint8_t side = 0;
  Budget budget{};
  std::uint32_t inbox = 0;  // maximum of messages under way to one node; 0: unlimited
  bool echo = false;        // a broadcast also arrives at its sender
  bool mail_first = false;  // messages that must arrive in a tick arrive before its timers fire
  bool symmetry = false;    // states that differ only by a permutation of the nodes count once
  bool settles = false;     // time changes nothing at a paused node, so pauses need no bound
  // The last node is a clone of this one: the others take its numbers for those of this one.
  // kNobody: there is no clone.
  NodeId cloned = kNobody;

  // The node whose numbers this one uses (numbers.h).
  NodeId numbered_as(NodeId node) const {
    return cloned != kNobody && index(node) + 1 == nodes ? cloned : node;
  }

  // The two nodes are on different sides of the cut.
  bool apart(NodeId one, NodeId other) const {
    return ((side >> index(one) ^ side >> index(other)) & 1) != 0;
  }
};

// History that a model keeps for each node because a property depends on it. It is part of the
// state, so use few values.
using Memory = std::uint8_t;

// A state as properties see it.
template <class View>
struct Scene {
  struct Slot {
    const View* view = nullptr;  // null: down
    bool paused = false;
    Memory memory = 0;
  };

  std::uint32_t nodes = 0;
  std::array<Slot, kMaxNodes> slots{};
  Budget spent{};

  bool up(std::uint32_t i) const { return slots[i].view != nullptr; }
};

}  // namespace tempo::check
