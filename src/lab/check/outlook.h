// Reachability of good states: the fault-free transitions between all states, and the states from
// which no stable good state is reachable.
//
// States are numbered in the order of their expansion. From every state a stable good one must be
// reachable: one that is good and stays good under every further transition. A transition to a
// pruned state counts as good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tempo::check {

class Outlook {
 public:
  // Adds the next state; states are added in the order of their numbers.
  void add_state(bool good) { good_.push_back(good); }
  // Begins the next state; the edges added next belong to it.
  void expand() { begin_.push_back(edges_.size()); }
  void add_edge(std::uint32_t to) { edges_.push_back(to); }
  void add_edge_beyond() { edges_.push_back(kBeyond); }

  // Call when all states are expanded: the first state from which no stable good state is
  // reachable.
  std::optional<std::uint32_t> first_lost() {
    expand();
    const auto states = static_cast<std::uint32_t>(good_.size());
    std::vector<bool> stable = good_;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = states; i-- > 0;)
        if (stable[i] &&
            any_edge(i, [&](std::uint32_t to) { return to != kBeyond && !stable[to]; })) {
          stable[i] = false;
          changed = true;
        }
    }
    std::vector<bool> comes = std::move(stable);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = states; i-- > 0;)
        if (!comes[i] &&
            any_edge(i, [&](std::uint32_t to) { return to == kBeyond || comes[to]; })) {
          comes[i] = true;
          changed = true;
        }
    }
    for (std::uint32_t i = 0; i < states; ++i)
      if (!comes[i]) return i;
    return std::nullopt;
  }

  // A walk from a lost state to a dead end, or back to its own state number `back`.
  struct Walk {
    std::vector<std::uint32_t> states;
    std::size_t back = 0;
  };
  Walk walk_from(std::uint32_t number) const {
    Walk walk{.states = {number}};
    std::unordered_map<std::uint32_t, std::size_t> met{{number, 0}};
    for (;;) {
      const std::uint32_t at = walk.states.back();
      if (begin_[at] == begin_[at + 1]) break;
      const std::uint32_t to = edges_[begin_[at]];
      walk.states.push_back(to);
      if (!met.try_emplace(to, walk.states.size() - 1).second) break;
    }
    walk.back = met.at(walk.states.back());
    return walk;
  }

  std::size_t bytes() const { return edges_.capacity() * 4 + begin_.capacity() * 8; }

 private:
  static constexpr std::uint32_t kBeyond = 0xffffffff;

  template <class Test>
  bool any_edge(std::uint32_t number, Test test) const {
    for (std::uint64_t i = begin_[number]; i < begin_[number + 1]; ++i)
      if (test(edges_[i])) return true;
    return false;
  }

  std::vector<std::uint64_t> begin_;  // start of each state's edges in edges_
  std::vector<std::uint32_t> edges_;  // target states; kBeyond: a pruned state
  std::vector<bool> good_;
};

}  // namespace tempo::check
