// The clock of a network card that stamps datagrams itself.
//
// Such a stamp has no interrupt and no queue of the kernel in it. The card's clock runs on its own,
// or is steered by somebody else; its stamps are carried over to the raw timescale by a bracketed
// reading, as the kernel's are (stamps.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platform/clocks/stamps.h"

struct ptp_sys_offset_extended;

namespace tempo::sys {

class CardClock {
 public:
  virtual ~CardClock() = default;
  // The card's time, as `real`, between two raw ones. Nothing: it cannot be read now.
  virtual std::optional<Bracket> read() = 0;
};

// The clock of the card behind this interface, which stamps from now on. A card that somebody has
// set up already is left as it is. Null: it has none, or we may not use it.
std::unique_ptr<CardClock> open_card_clock(const std::string& interface);

// The narrowest of what the kernel read: the card's time between two of CLOCK_REALTIME, which are
// carried over by `now`, read at about the same time. Nothing: the kernel read nothing.
std::optional<Bracket> bracket_of(const ptp_sys_offset_extended& readings, const Bracket& now);

}  // namespace tempo::sys
