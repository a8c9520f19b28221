// one-value: no version has two values anywhere, and every update of a live member is written in
// the end.
#pragma once

#include <set>

#include "lab/studies/group/apps/property.h"

namespace tempo::sim::apps {

class OneValue : public Property {
 public:
  explicit OneValue(std::uint32_t nodes) : Property(nodes) {}

  void noticed(const Scene& scene, NodeId node, const Notice& notice) {
    if (notice.kind == Notice::Kind::accepted) {
      asked(notice.value, scene.now);
      askers_[notice.value] = node;
    }
    if (notice.kind != Notice::Kind::writes) return;
    const auto [first, is_first] =
        versions_.try_emplace(notice.number, Written{notice.value, node});
    if (first->second.value != notice.value)
      breaks(scene,
             fmt::format("version {} is {} at {} and {} at {}", notice.number, first->second.value,
                         shown(first->second.at), notice.value, shown(node)));
    if (!is_first) return;
    written_.insert(notice.value);
    const auto asker = askers_.find(notice.value);
    if (asker != askers_.end()) did(notice.value, asker->second, scene.now);
  }

  void ended(const Scene& scene) {
    for (const auto& [value, asker] : askers_)
      if (scene.up[index(asker)] && !written_.contains(value))
        breaks(scene, fmt::format("update {} of {} is never written", value, shown(asker)));
  }

 private:
  struct Written {
    std::uint64_t value = 0;
    NodeId at = kNobody;
  };

  std::map<std::uint32_t, Written> versions_;
  std::map<std::uint64_t, NodeId> askers_;
  std::set<std::uint64_t> written_;
};

}  // namespace tempo::sim::apps
