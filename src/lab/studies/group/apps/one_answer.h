// one-answer: every request is answered once, by the most appropriate live server.
#pragma once

#include "lab/studies/group/apps/property.h"

namespace tempo::sim::apps {

class OneAnswer : public Property {
 public:
  // Suitability of each server; of equal servers the larger number is better.
  explicit OneAnswer(std::vector<std::int64_t> worths)
      : Property(static_cast<std::uint32_t>(worths.size())), worths_(std::move(worths)) {}

  void noticed(const Scene& scene, NodeId node, const Notice& notice) {
    if (notice.kind == Notice::Kind::accepted) {
      asked(notice.value, scene.now);
      requests_[notice.value].known_to.push_back(node);
    }
    if (notice.kind == Notice::Kind::done) answered(scene, node, notice);
  }

  void ended(const Scene& scene) {
    for (const auto& [task, request] : requests_)
      if (request.by == kNobody &&
          std::ranges::any_of(request.known_to, [&](NodeId node) { return scene.up[index(node)]; }))
        breaks(scene, fmt::format("request {} is never answered", task_text(task)));
  }

 private:
  struct Request {
    std::vector<NodeId> known_to{};
    std::vector<NodeId> heard_by{};
    NodeId by = kNobody;
  };

  void answered(const Scene& scene, NodeId node, const Notice& notice) {
    Request& request = requests_[notice.value];
    if (std::ranges::find(request.heard_by, node) != request.heard_by.end() ||
        (request.by != kNobody && request.by != notice.node))
      return breaks(scene, fmt::format("request {} is answered twice", task_text(notice.value)));
    request.heard_by.push_back(node);
    if (request.by != kNobody) return;
    request.by = notice.node;
    did(notice.value, notice.node, scene.now);
    for (std::uint32_t i = 0; i < worths_.size(); ++i)
      if (scene.up[i] && better(NodeId{i}, notice.node))
        breaks(scene, fmt::format("{} answers request {}, and {} is more appropriate",
                                  shown(notice.node), task_text(notice.value), i + 1));
  }

  bool better(NodeId one, NodeId other) const {
    return std::pair(worths_[index(one)], one) > std::pair(worths_[index(other)], other);
  }

  std::vector<std::int64_t> worths_;
  std::map<std::uint64_t, Request> requests_;
};

}  // namespace tempo::sim::apps
