// fair-entry: at most one process is inside, each of the others overtakes a waiting process at most
// once, and every waiting process enters.
#pragma once

#include "lab/studies/group/apps/property.h"

namespace tempo::sim::apps {

class FairEntry : public Property {
 public:
  explicit FairEntry(std::uint32_t nodes) : Property(nodes), waits_(nodes) {}

  void noticed(const Scene& scene, NodeId node, const Notice& notice) {
    Waiting& waiting = waits_[index(node)];
    if (notice.kind == Notice::Kind::wants) {
      waiting = {.waits = true};
      asked(index(node), scene.now);
    }
    if (notice.kind == Notice::Kind::leaves && inside_ == node) inside_ = kNobody;
    if (notice.kind != Notice::Kind::enters) return;
    if (inside_ != kNobody && scene.up[index(inside_)])
      breaks(scene, fmt::format("{} and {} are both inside", shown(inside_), shown(node)));
    inside_ = node;
    waiting.waits = false;
    did(index(node), node, scene.now);
    overtake(scene);
  }

  void ended(const Scene& scene) {
    for (std::uint32_t i = 0; i < waits_.size(); ++i)
      if (scene.up[i] && waits_[i].waits)
        breaks(scene, fmt::format("{} waits and never enters", i + 1));
  }

 private:
  struct Waiting {
    bool waits = false;
    std::uint32_t overtaken = 0;
  };

  void overtake(const Scene& scene) {
    for (std::uint32_t i = 0; i < waits_.size(); ++i)
      if (waits_[i].waits && scene.up[i] && ++waits_[i].overtaken >= waits_.size())
        breaks(scene, fmt::format("{} waits while {} others enter", i + 1, waits_[i].overtaken));
  }

  std::vector<Waiting> waits_;
  NodeId inside_ = kNobody;
};

}  // namespace tempo::sim::apps
