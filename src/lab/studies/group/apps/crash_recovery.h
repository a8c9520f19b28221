// Crash recovery: when the coordinator of a task dies, another process takes over and finishes the
// task; every step is done once.
//
// Criterion: the number of the process; any other would do. All members receive every step, so the
// next coordinator continues after the last step received. Naive: it restarts the task.
#pragma once

#include "lab/studies/group/apps/errands.h"
#include "machine/field_list.h"

namespace tempo::apps {

class Coordination {
 public:
  static constexpr Slip kSlip = Slip::restarts;

  Coordination(NodeId self, const Rules& /*rules*/) : self_(self) {}
  Capacity capacity(WallTime /*now*/) const { return index(self_); }
  void offer(Capacity /*worth*/) {}
  void took(WallTime /*now*/, std::uint32_t /*size*/) {}
  static std::uint32_t steps(std::uint32_t size) { return size; }

  static constexpr auto fields(auto list) { return list(field<&Coordination::self_>("self")); }
  friend FieldCheck;

 private:
  NodeId self_;
};

using CrashRecovery = Errands<Coordination>;
static_assert(CheckableMachine<App<CrashRecovery>>);

}  // namespace tempo::apps
