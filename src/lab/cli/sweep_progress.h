// How far the processes of one sweep have come, said by the first of them for all.
//
// Any thread may add(); the rest is for the thread that made it. The others tell the first now and
// then how much they have done. Where standard error is no terminal, as under mpirun, the first
// says it in plain lines, a few seconds apart.
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
    std::uint64_t kept = 0;  // from before, by this one
  };
  SweepProgress(MpiGroup& mpi_group, const Cells& cells);

  void add() { progress_.add(); }
  // Tells the first, or hears what there is to hear and draws.
  void look();
  // This process has ended its part; the first waits until all have. All call it.
  void finish();

 private:
  void notify(bool ended);
  void receive();

  MpiGroup* mpi_group_;
  std::uint64_t kept_;
  report::Progress progress_;       // of all at the first, else of this process
  std::vector<WorkProgress> told_;  // at the first: what each of the others has last said
  Instant next_word_;               // to the first, not before
};

}  // namespace tempo::cli
