// Network time as a node knew it before its present reference.
//
// A follower records its knowledge at every correction. When it loses its reference or objects to
// it, it holds over a record that is older than a fault which members detect now. A former master
// holds over its own clock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "protocol/clock/holdover.h"
#include "protocol/sync/sync_step.h"

namespace tempo::node {

// Change of rate, by temperature, of a raw clock whose rate was known and is no longer measured.
inline constexpr double kHeldWander = 10e-6;
// Largest difference between the rates of two usable clocks: network time may change its rate by
// this with the master while no member knows the rate of its raw clock.
inline constexpr double kUnknownRate = 200e-6;

class HeldTime {
 public:
  // The line that the node holds over; nullopt: the present reference is known better.
  const std::optional<clock::Holdover>& line() const { return line_; }
  void drop_line() { line_.reset(); }

  // The error bound when the last reference was lost, or the mastership; negative: never corrected.
  Nanos bound() const { return bound_; }
  // The error that may have been added since then.
  Nanos wander(Instant now) const { return share_of(now - since_, drift_); }

  bool has_records() const { return count_ > 0; }
  void record(const clock::Holdover& known) { records_[count_++ % records_.size()] = known; }

  // The reference, or the mastership, is lost at `now` with this error bound, which grows by
  // `drift`.
  void lose(Instant now, Nanos bound, double drift) {
    since_ = now;
    bound_ = bound;
    drift_ = drift;
  }
  // Holds over the clock of this node, a former master.
  void hold_own(const clock::Holdover& own) {
    line_ = own;
    followed_ = false;
  }
  // Holds over a record. `against`: it contradicts the present reference.
  void hold_record(Instant now, bool against) {
    const std::size_t kept = std::min<std::size_t>(count_, records_.size());
    std::size_t age = 1;
    const auto at = [&] { return (count_ - age) % records_.size(); };
    while (age < kept && now - records_[at()].since < kFaultLatency) ++age;
    line_ = records_[at()];
    followed_ = true;
    against_ = against;
  }
  void forget_records() {
    against_ = false;
    count_ = 0;
  }
  // The present reference is right after all.
  void concede() {
    line_.reset();
    against_ = false;
  }
  // Network time was set: earlier knowledge of it is no longer valid.
  void forget() {
    line_.reset();
    forget_records();
  }

  bool against_reference() const { return against_; }
  // The line comes from a master and does not yet contradict the present reference.
  bool judges() const { return line_ && followed_ && !against_; }

 private:
  static constexpr Nanos kFaultLatency = 6s;  // older records precede a fault that is detected now

  std::optional<clock::Holdover> line_;
  bool followed_ = false;  // line_ comes from a master, not from our own mastership
  bool against_ = false;   // line_ contradicts the present reference
  Instant since_{};
  Nanos bound_{-1};
  double drift_ = kHeldWander;                 // growth of the bound since then
  std::array<clock::Holdover, 12> records_{};  // at the last corrections, a ring
  std::uint32_t count_ = 0;                    // corrections recorded under this reference
};

}  // namespace tempo::node
