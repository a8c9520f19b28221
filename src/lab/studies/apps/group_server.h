// A group server: many servers, one service; every request is answered once, by the most
// appropriate server.
//
// Criterion: what each server says of itself (load, location). The answer is told to all members;
// who does not hear it in time holds the next election. Naive: whoever is elected is trusted to
// answer, and a request whose server dies is never answered.
#pragma once

#include "lab/studies/apps/errands.h"

namespace tempo::apps {

class Service {
 public:
  static constexpr Slip kSlip = Slip::trusts;

  Service(NodeId /*self*/, const Rules& /*rules*/) {}
  Capacity capacity(Instant /*now*/) const { return worth_; }
  void offer(Capacity worth) { worth_ = worth; }
  void took(Instant /*now*/, std::uint32_t /*size*/) {}
  static std::uint32_t steps(std::uint32_t /*size*/) { return 1; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("worth", self.worth_);
  }

 private:
  Capacity worth_ = 0;
};

using GroupServer = Errands<Service>;
static_assert(Machine<App<GroupServer>>);

}  // namespace tempo::apps
