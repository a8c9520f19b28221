// Replicated data: only an elected updater with a majority of the copies writes.
//
// Criterion: the waiting time of the update. An updater that was cut off while its update was
// written may write it again; updates must be idempotent. Naive: a majority of the copies that
// answer suffices; in a partition each part has one, and the copies differ permanently.
#pragma once

#include "lab/studies/group/apps/majority.h"

namespace tempo::apps {

class Update {
 public:
  explicit Update(const Rules& rules) : rules_(&rules) {}
  static std::uint64_t first() { return 0; }
  bool counts(NodeId node, std::uint64_t /*value*/) const { return index(node) < rules_->members; }
  std::size_t members(std::uint64_t /*value*/) const { return rules_->members; }
  static std::uint64_t proposal(std::uint64_t /*value*/, std::uint64_t request, NodeId /*self*/) {
    return request;
  }
  static bool fulfilled(std::uint64_t value, std::uint64_t request, NodeId /*self*/) {
    return value == request;
  }
  static bool approves(NodeId /*node*/) { return true; }
  void distrust(NodeId /*node*/) {}

  static constexpr auto fields(auto list) { return list(fixed<&Update::rules_>()); }
  friend FieldCheck;

 private:
  const Rules* rules_;
};

using ReplicatedData = Majority<Update>;
static_assert(CheckableMachine<App<ReplicatedData>>);

}  // namespace tempo::apps
