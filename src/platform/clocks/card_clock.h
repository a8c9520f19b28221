// The clock of a network card that timestamps datagrams in hardware.
//
// A hardware timestamp contains no interrupt latency and no kernel queue. The clock of the card
// runs freely or is steered by another program; a bracketed reading converts its timestamps to the
// raw timescale, as for those of the kernel (stamps.h).
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
  // The time of the card, as `real`, between two raw readings. Nothing: it cannot be read now.
  virtual std::optional<Bracket> read() = 0;
};

// Opens the clock of the card behind this interface and enables its timestamps. A card that is
// already configured is left as it is. Null: no such clock, or no permission.
std::unique_ptr<CardClock> open_card_clock(const std::string& interface);

// The narrowest of the readings of the kernel: the time of the card between two readings of
// CLOCK_REALTIME, which `now`, read at about the same time, converts to raw time. Nothing: no
// readings.
std::optional<Bracket> bracket_of(const ptp_sys_offset_extended& readings, const Bracket& now);

}  // namespace tempo::sys
