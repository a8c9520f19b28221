// `tempo-lab sweep`: a simulation, check or analysis over a grid of options; and `tempo-lab merge`,
// which combines the shards of one sweep or of one `sim ring`.
//
// Each cell is a command of tempo-lab, run in this process on one of its threads. The results are
// the same bytes with any number of threads, shards and, under mpirun, machines. Every finished
// cell is written at once, so that an interrupted sweep resumes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/cli/sweep/spec.h"

namespace tempo::cli {

struct SweepArguments {
  std::string spec;           // path of the specification
  std::string out;            // results go to OUT.jsonl and OUT.csv; empty: the spec's name
  std::uint32_t threads = 0;  // 0: one for each core
  std::string shard;          // "2/4"; empty: everything
  bool json = false;
};

struct MergeArguments {
  std::vector<std::string> files;
  std::string out;  // as above; not used for shards of `sim ring`
  bool json = false;
};

int sweep(const SweepArguments& arguments, const sweep::Commands& known);
int merge(const MergeArguments& arguments);

}  // namespace tempo::cli
