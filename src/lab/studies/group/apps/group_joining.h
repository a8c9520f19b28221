// Joining a group: a majority of the members admits a process, and all members have the same list
// of members.
//
// Criterion: the waiting time of the process. The value that a majority agrees on is the list, one
// bit for each process. An admitted process counts in the next majority. Naive: a majority of the
// members that answer suffices, and in a partition the two parts admit different processes.
#pragma once

#include <bit>

#include "lab/studies/group/apps/majority.h"
#include "machine/field_list.h"

namespace tempo::apps {

class Admission {
 public:
  static constexpr std::uint32_t kMaxProcesses = 64;

  explicit Admission(const Rules& rules) : founders_(rules.founders) {
    CHECK(rules.members <= kMaxProcesses && rules.founders > 0 && rules.founders < rules.members);
  }
  std::uint64_t first() const { return (std::uint64_t{1} << founders_) - 1; }
  static bool counts(NodeId node, std::uint64_t list) { return (list >> index(node) & 1) != 0; }
  static std::size_t members(std::uint64_t list) {
    return static_cast<std::size_t>(std::popcount(list));
  }
  static std::uint64_t proposal(std::uint64_t list, std::uint64_t /*request*/, NodeId self) {
    return list | std::uint64_t{1} << index(self);
  }
  static bool fulfilled(std::uint64_t list, std::uint64_t /*request*/, NodeId self) {
    return counts(self, list);
  }
  bool approves(NodeId node) const { return !distrusted_.contains(node); }
  void distrust(NodeId node) {
    if (index(node) < kMaxProcesses) distrusted_.insert(node);
  }

  static constexpr auto fields(auto list) {
    return list(field<&Admission::distrusted_>("distrusted"), fixed<&Admission::founders_>());
  }
  friend FieldCheck;

 private:
  std::uint32_t founders_;
  NodeSet distrusted_;
};

using GroupJoining = Majority<Admission>;
static_assert(CheckableMachine<App<GroupJoining>>);

}  // namespace tempo::apps
