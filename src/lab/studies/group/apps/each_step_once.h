// each-step-once: every step of every task is done once and in order, and no task stays unfinished.
#pragma once

#include "lab/studies/group/apps/property.h"

namespace tempo::sim::apps {

class EachStepOnce : public Property {
 public:
  explicit EachStepOnce(std::uint32_t nodes) : Property(nodes), heard_(nodes) {}

  void noticed(const Scene& scene, NodeId node, const Notice& notice) {
    if (notice.kind == Notice::Kind::accepted) {
      asked(notice.value, scene.now);
      sizes_[notice.value] = notice.number;
      heard_[index(node)].try_emplace(notice.value, 0);
    }
    if (notice.kind == Notice::Kind::done) receive(scene, node, notice);
  }

  void ended(const Scene& scene) {
    for (std::uint32_t i = 0; i < heard_.size(); ++i)
      for (const auto& [task, steps] : heard_[i])
        if (scene.up[i] && steps < sizes_[task])
          breaks(scene, fmt::format("task {} ends after step {} of {}", task_text(task), steps,
                                    sizes_[task]));
  }

 private:
  void receive(const Scene& scene, NodeId node, const Notice& notice) {
    std::uint32_t& steps = heard_[index(node)][notice.value];
    if (notice.number != steps + 1)
      breaks(scene, fmt::format("step {} of task {} is done after step {}", notice.number,
                                task_text(notice.value), steps));
    steps = notice.number;
    const auto [first, is_first] = doers_.try_emplace({notice.value, notice.number}, notice.node);
    if (is_first) did(notice.value, notice.node, scene.now);
    if (first->second != notice.node)
      breaks(scene, fmt::format("step {} of task {} is done by {} and by {}", notice.number,
                                task_text(notice.value), shown(first->second), shown(notice.node)));
  }

  std::map<std::uint64_t, std::uint32_t> sizes_;
  // By node: steps received of each task.
  std::vector<std::map<std::uint64_t, std::uint32_t>> heard_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, NodeId> doers_;
};

}  // namespace tempo::sim::apps
