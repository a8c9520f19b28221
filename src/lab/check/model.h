// What a check is about: the world's freedom, and what the caller says of the machine.
//
// A Model names the machine and what is promised of it:
//
//     struct Model {
//       using Machine = ...;
//       struct View { ... };              what the promises look at, kept for every local state
//       Machine make(NodeId, Incarnation) const;
//       View view(const Machine&) const;   or view(const Machine&, Instant now)
//       const char* broken(const Scene<View>&) const;   null, or the promise a state breaks
//     };
//
// and may add
//
//       void started(Machine&, NodeId, Turn<Machine>&) const;   what is asked of it at its start
//       const char* broken_step(const Machine& before, const Machine& after,
//                               std::span<const Notice>) const;      a promise one node can break
//       const char* broken_move(const Scene<View>& before, const Scene<View>& after, NodeId) const;
//       bool good(const Scene<View>&) const;  asks that a stable good state can always be reached
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
  bounded,  // one clock of whole ticks for all; delays between two bounds; timers fire when due
  free,     // any timer that is set may fire at any time, any message may take any time
};

enum class Network : std::uint8_t {
  bag,      // any order
  fifo,     // each link keeps the order
  set,      // any order; equal messages on one link are one
  ordered,  // a broadcast reaches all or none; all receive broadcasts in the order of sending
};

// How often each fault may happen in one run.
struct Budget {
  static constexpr std::uint8_t kAnyNumber = 255;

  std::uint8_t losses = 0;
  std::uint8_t duplicates = 0;
  std::uint8_t crashes = 0;
  std::uint8_t restarts = 0;
  std::uint8_t pauses = 0;
  std::uint8_t drifts = 0;  // a clock gains or loses a tick

  bool operator==(const Budget&) const = default;
  // Of all: what is spent when this is left.
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
  // Until this tick nothing goes between the nodes of `side` (a bit each) and the others.
  std::uint8_t cut_until = 0;
  std::uint8_t side = 0;
  Budget budget{};
  std::uint32_t inbox = 0;  // messages under way to one node at most; 0: as many as there are
  bool echo = false;        // a broadcast comes to its sender too
  bool mail_first = false;  // what must arrive in a tick arrives before timers fire in it
  bool symmetry = false;    // states that differ by the names of nodes are one
  bool settles = false;     // time comes to nothing new at a paused node: pauses need no bound

  // Whether the cut runs between them.
  bool apart(NodeId one, NodeId other) const {
    return ((side >> index(one) ^ side >> index(other)) & 1) != 0;
  }
};

// A small note that the caller keeps with every node of every state: what a promise needs to know
// of the past. It is part of the state, so the fewer values the better.
using Memory = std::uint8_t;

// A state as promises see it.
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
