// `tempo sweep`: a simulation, check or analysis over a grid of options; and `tempo merge`, which
// puts the parts of one together, or those of one `sim ring`.
//
// Each cell is the command as it would be typed, run in this process on one of its threads. Results
// are the same bytes whether they were made by one thread or many, in one part or several, on one
// machine or, under mpirun, on many. What is done is kept at once, so that a run that was stopped
// goes on where it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/sweep/spec.h"

namespace tempo::cli {

struct SweepArguments {
  std::string spec;           // a file
  std::string out;            // results go to this with .jsonl and .csv; empty: the spec's name
  std::uint32_t threads = 0;  // 0: one for each core
  std::string shard;          // "2/4"; empty: everything
  bool json = false;
};

struct MergeArguments {
  std::vector<std::string> files;
  std::string out;  // of sweeps
  bool json = false;
};

int sweep(const SweepArguments& arguments, const sweep::Commands& known);
int merge(const MergeArguments& arguments);

}  // namespace tempo::cli
