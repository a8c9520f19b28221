#include "protocol/sync/held_time.h"

#include <algorithm>

namespace tempo::node {
namespace {

constexpr Nanos kFaultLatency = 6s;  // records older than this precede a fault that is detected now

}  // namespace

void HeldTime::lose(Instant now, Nanos bound) {
  since_ = now;
  bound_ = bound;
}

void HeldTime::hold_own(const clock::Holdover& own) {
  line_ = own;
  followed_ = false;
}

void HeldTime::hold_record(Instant now, bool against) {
  const std::size_t kept = std::min<std::size_t>(count_, records_.size());
  std::size_t age = 1;
  const auto at = [&] { return (count_ - age) % records_.size(); };
  while (age < kept && now - records_[at()].since < kFaultLatency) ++age;
  line_ = records_[at()];
  followed_ = true;
  against_ = against;
}

}  // namespace tempo::node
