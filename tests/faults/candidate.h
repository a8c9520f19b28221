// One that wants to lead a group, through libtempo, and what it writes down: its terms are holds of
// a lock like any other (history.h), one that is always exclusive.
//
// It acts for the group until it is told to stop or its lease is over, whichever it sees first. Now
// and then it resigns, and what it offers changes, so that leadership moves also where nothing goes
// wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/units.h"
#include "workload.h"
#include "tempo/election.h"

namespace tempo::faults {

class Candidate {
 public:
  Candidate(const Workload::Options& order, std::uint32_t number, std::uint32_t life, Notes& notes);
  void run();  // until the notes say that it is over

 private:
  bool stand();
  void step();
  void lead(std::uint64_t term);
  void leave(Instant at);
  void retire();  // and stands again after a rest

  const Workload::Options* order_;
  Notes* notes_;
  Stream chance_;
  std::string socket_;
  std::optional<Election> election_;
  bool gone_ = false;  // its daemon; what it had lasts until the lease ends
  bool leads_ = false;
  Instant until_{};      // leads: by its own clock test
  Instant resign_at_{};  // leads
  Instant next_offer_{};
};

}  // namespace tempo::faults
