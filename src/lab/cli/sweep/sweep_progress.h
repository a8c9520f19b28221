// Progress of all processes of one sweep, displayed by the first.
//
// Any thread may add(); everything else belongs to the thread that constructed the object. The
// other processes report to the first twice a second. If standard error is not a terminal, as under
// mpirun, the first prints a plain line every few seconds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "lab/cli/mpi_group.h"
#include "lab/report/progress.h"

namespace tempo::cli {

class SweepProgress {
 public:
  struct Cells {
    std::uint64_t all = 0;   // of all processes
    std::uint64_t kept = 0;  // done by an earlier run, of this process
  };
  SweepProgress(MpiGroup& mpi_group, const Cells& cells);

  void add() { progress_.add(); }
  // Reports to the first process; at the first receives reports and draws.
  void update();
  // Ends the part of this process; the first waits until all have ended. All processes call it.
  void finish();

 private:
  void notify(bool ended);
  void receive();

  MpiGroup* mpi_group_;
  std::uint64_t kept_;              // cells done by an earlier run
  report::Progress progress_;       // at the first of all processes, else of this one
  std::vector<WorkProgress> last_;  // at the first: last report of each process
  Instant next_report_;             // earliest time of the next report to the first
};

}  // namespace tempo::cli
