// The clock algorithm of 4.3BSD's time daemon: the average of the clocks that are not faulty.
//
// Source: Gusella and Zatti 1985, section 1 and footnote 1. The footnote calls a clock faulty that
// is "more than a small specified interval" from the majority; here the largest group of clocks
// whose spread is within the interval counts, and of equal groups one with the master's own clock.
// With two clocks there is no majority: the plain average counts.
#pragma once

#include <optional>
#include <span>

#include "base/units.h"

namespace tempo::classic {

// Correction of the master's own clock. `offsets`: of the other clocks from the master's, in any
// order; `interval`: widest spread of a group.
Nanos network_correction(std::span<const Nanos> offsets, Nanos interval);

// Offset of a peer's clock from the exchange of ICMP timestamps with the shortest ways: half the
// difference of the smallest outbound and the smallest inbound time (each the true delay plus or
// minus the offset). Positive: the peer is ahead.
class OffsetProbe {
 public:
  void add(Nanos outbound, Nanos inbound);
  std::optional<Nanos> offset() const;

 private:
  std::optional<Nanos> outbound_;
  std::optional<Nanos> inbound_;
};

}  // namespace tempo::classic
