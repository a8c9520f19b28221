// A candidate for the leadership of a group, through libtempo. It logs its terms as exclusive holds
// of a lock (history.h).
//
// A leader acts until tempod stops it or its lease ends, whichever it detects first. Leaders resign
// at random, and candidates change their capacity, so that leadership moves without faults too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/units.h"
#include "tempo/election.h"
#include "workload.h"

namespace tempo::faults {

class Candidate {
 public:
  Candidate(const Workload::Options& options, std::uint32_t number, std::uint32_t incarnation,
            HoldLog& log);
  void run();  // until log.stop

 private:
  bool stand();
  void step();
  void lead(std::uint64_t term);
  void leave(BootTime at);
  void retire();  // leaves the election; run() stands again after a pause

  const Workload::Options* options_;
  HoldLog* log_;
  Stream random_;
  std::string socket_;
  std::optional<Election> election_;
  bool disconnected_ = false;  // from the daemon; leadership lasts until the lease ends
  bool leads_ = false;
  BootTime deadline_{};    // end of the lease; valid while leads_
  BootTime resign_at_{};   // valid while leads_; kNever: does not resign
  BootTime next_offer_{};  // time of the next change of capacity
};

}  // namespace tempo::faults
