// Crash recovery: when the coordinator of a task dies, another takes over and finishes what was
// begun; every step is done once.
//
// Criterion: the number of the process; any would do. All members hear of every step, so the next
// coordinator goes on where the last one was heard. Naive: it begins anew.
#pragma once

#include "lab/studies/apps/errands.h"

namespace tempo::apps {

class Coordination {
 public:
  static constexpr Slip kSlip = Slip::begins_anew;

  Coordination(NodeId self, const Rules& /*rules*/) : self_(self) {}
  Capacity capacity(Instant /*now*/) const { return index(self_); }
  void offer(Capacity /*worth*/) {}
  void took(Instant /*now*/, std::uint32_t /*size*/) {}
  static std::uint32_t steps(std::uint32_t size) { return size; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
  }

 private:
  NodeId self_;
};

using CrashRecovery = Errands<Coordination>;
static_assert(Machine<App<CrashRecovery>>);

}  // namespace tempo::apps
