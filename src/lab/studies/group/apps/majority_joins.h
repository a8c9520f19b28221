// majority-joins: there is one list of members, which grows by one process at a time; a majority of
// the previous list has voted for each new process; and every live, welcome process is on the list
// in the end.
//
// A list is an integer with a bit for each process.
#pragma once

#include <bit>
#include <set>
#include <tuple>

#include "lab/studies/group/apps/property.h"

namespace tempo::sim::apps {

class MajorityJoins : public Property {
 public:
  MajorityJoins(std::uint32_t nodes, std::uint64_t founders, std::uint64_t welcome)
      : Property(nodes), welcome_(welcome), lists_{founders} {}

  void noticed(const Scene& scene, NodeId node, const Notice& notice) {
    if (notice.kind == Notice::Kind::accepted) {
      asked(index(node), scene.now);
      askers_ |= std::uint64_t{1} << index(node);
    }
    if (notice.kind == Notice::Kind::votes) yes_.insert({notice.number, notice.node, node});
    if (notice.kind == Notice::Kind::writes) grow(scene, node, notice);
  }

  void ended(const Scene& scene) {
    const std::uint64_t outside = askers_ & welcome_ & ~lists_.back();
    for (std::uint32_t i = 0; i < scene.up.size(); ++i)
      if (scene.up[i] && (outside >> i & 1) != 0)
        breaks(scene, fmt::format("{} is welcome and never admitted", i + 1));
  }

 private:
  void grow(const Scene& scene, NodeId node, const Notice& notice) {
    if (notice.number < lists_.size()) {
      if (lists_[notice.number] != notice.value)
        breaks(scene, fmt::format("{} has a different list {} than the others", shown(node),
                                  notice.number));
      return;
    }
    if (notice.number > lists_.size())
      return breaks(scene,
                    fmt::format("list {} follows list {}", notice.number, lists_.size() - 1));
    const std::uint64_t before = lists_.back();
    const std::uint64_t entered = notice.value ^ before;
    lists_.push_back(notice.value);
    if (std::popcount(entered) != 1 || (entered & before) != 0)
      return breaks(scene, fmt::format("list {} does not extend the previous list by one member",
                                       notice.number));
    const NodeId joined{static_cast<std::uint32_t>(std::countr_zero(entered))};
    const std::size_t yes = count_yes(notice.number, joined, before);
    if (2 * yes <= static_cast<std::size_t>(std::popcount(before)))
      breaks(scene, fmt::format("{} is admitted by {} of {} members", shown(joined), yes,
                                std::popcount(before)));
    did(index(joined), joined, scene.now);
  }

  std::size_t count_yes(std::uint32_t number, NodeId joined, std::uint64_t members) const {
    return static_cast<std::size_t>(std::ranges::count_if(yes_, [&](const auto& yes) {
      const auto& [of, to, by] = yes;
      return of == number && to == joined && (members >> index(by) & 1) != 0;
    }));
  }

  std::uint64_t welcome_;
  std::uint64_t askers_ = 0;
  std::vector<std::uint64_t> lists_;                         // by version
  std::set<std::tuple<std::uint32_t, NodeId, NodeId>> yes_;  // version, for whom, by whom
};

}  // namespace tempo::sim::apps
