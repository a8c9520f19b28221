// A group server: many servers, one service; the most appropriate server answers every request,
// once.
//
// Criterion: the load or location that each server reports. The answer is broadcast to all members;
// a member that does not receive it in time calls the next election. Naive: the members trust the
// elected server, and a request whose server dies is never answered.
#pragma once

#include "lab/studies/group/apps/errands.h"
#include "machine/field_list.h"

namespace tempo::apps {

class Service {
 public:
  static constexpr Slip kSlip = Slip::trusts;

  Service(NodeId /*self*/, const Rules& /*rules*/) {}
  Capacity capacity(WallTime /*now*/) const { return worth_; }
  void offer(Capacity worth) { worth_ = worth; }
  void took(WallTime /*now*/, std::uint32_t /*size*/) {}
  static std::uint32_t steps(std::uint32_t /*size*/) { return 1; }

  static constexpr auto fields(auto list) { return list(field<&Service::worth_>("worth")); }
  friend FieldCheck;

 private:
  Capacity worth_ = 0;
};

using GroupServer = Errands<Service>;
static_assert(CheckableMachine<App<GroupServer>>);

}  // namespace tempo::apps
