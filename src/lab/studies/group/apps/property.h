// Base class of the properties of applications: keeps the first violation, and counts requests,
// completions and waiting times. Each property has a file of its own; it sees the notices of all
// members and never their state.
//
//     noticed(scene, node, notice)  called for every notice
//     ended(scene)                  called when faults have stopped and all work has had time to
//                                   finish
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/ids.h"
#include "base/units.h"
#include "lab/studies/group/apps/duty.h"

namespace tempo::sim::apps {

using tempo::apps::Notice;

// The part of the world that properties see.
struct Scene {
  Instant now{};
  std::vector<bool> up{};  // by node
};

// Requests and completions.
struct Measures {
  std::uint64_t asked = 0;
  std::uint64_t done = 0;
  std::vector<std::uint64_t> by_node{};
  Nanos longest_wait{0};  // longest time from request to completion
};

class Property {
 public:
  explicit Property(std::uint32_t nodes) { measures_.by_node.resize(nodes); }

  const std::string& broken() const { return broken_; }  // first violation; empty: none
  Instant broken_at() const { return broken_at_; }
  const Measures& measures() const { return measures_; }

 protected:
  void breaks(const Scene& scene, std::string how) {
    if (!broken_.empty()) return;
    broken_ = std::move(how);
    broken_at_ = scene.now;
  }
  void asked(std::uint64_t what, Instant at) {
    if (asked_at_.try_emplace(what, at).second) ++measures_.asked;
  }
  void did(std::uint64_t what, NodeId by, Instant at) {
    ++measures_.done;
    ++measures_.by_node[index(by)];
    const auto asked = asked_at_.find(what);
    if (asked == asked_at_.end()) return;
    measures_.longest_wait = std::max(measures_.longest_wait, at - asked->second);
    asked_at_.erase(asked);
  }

 private:
  std::string broken_;
  Instant broken_at_{};
  Measures measures_;
  std::map<std::uint64_t, Instant> asked_at_;  // requests that are not done yet
};

// Text output: nodes count from 1; a task is named by the asking node and its counter.
inline std::uint32_t shown(NodeId node) { return index(node) + 1; }
inline std::string task_text(std::uint64_t task) {
  return fmt::format("{}.{}", (task >> 32) + 1, task & 0xffffffff);
}

}  // namespace tempo::sim::apps
