// Transmissions under way. A transmission is stored once for all its copies; its slot is reused
// after the last copy has arrived or is lost.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/units.h"

namespace tempo::sim {

template <class Message>
struct Flight {
  Message message;
  NodeId from{};
  std::uint32_t copies = 0;  // copies still under way
  std::uint32_t number = 0;  // number of the transmission, as in the trace
  Instant sent;              // true time of the transmission
};

template <class Message>
class Flights {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // Stores a transmission; returns its slot.
  std::uint32_t begin(const Flight<Message>& flight) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(all_.size());
      CHECK(slot != kNone);
      all_.push_back(flight);
    } else {
      slot = free_.back();
      free_.pop_back();
      all_[slot] = flight;
    }
    return slot;
  }
  void copy(std::uint32_t slot) { ++all_[slot].copies; }
  void end(std::uint32_t slot) {  // ends one copy
    if (--all_[slot].copies == 0) free_.push_back(slot);
  }

  Flight<Message>& operator[](std::uint32_t slot) { return all_[slot]; }
  const Flight<Message>& operator[](std::uint32_t slot) const { return all_[slot]; }

 private:
  std::vector<Flight<Message>> all_;
  std::vector<std::uint32_t> free_;  // unused slots of all_
};

}  // namespace tempo::sim
