// Transmissions under way: each is kept once for all its copies, and its place is used again when
// the last of them has arrived or is lost.
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
  std::uint32_t copies = 0;
  std::uint32_t number = 0;
  Instant sent;
};

template <class Message>
class Flights {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // Where it is from now on.
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
  void end(std::uint32_t slot) {  // of one copy
    if (--all_[slot].copies == 0) free_.push_back(slot);
  }

  Flight<Message>& operator[](std::uint32_t slot) { return all_[slot]; }
  const Flight<Message>& operator[](std::uint32_t slot) const { return all_[slot]; }

 private:
  std::vector<Flight<Message>> all_;
  std::vector<std::uint32_t> free_;  // places in it
};

}  // namespace tempo::sim
