// Shared by all commands of `tempo-lab check`: a search with a progress line, and its counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>

#include "base/json.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "lab/check/explore.h"
#include "lab/report/progress.h"

namespace tempo::cli {

// Number of states and transitions, speed, and whether the search is complete.
Json json_of(const check::Finding& finding);
void print_counts(const check::Finding& finding);
int status_of(const check::Finding& finding);

// "1 tick", "2 ticks".
std::string ticks_text(std::uint64_t ticks);

// Runs a search with a progress line; Ctrl-C ends it with an incomplete finding. Sets
// options.progress; options.threads = 0 means one for each core, at most two.
template <class Model>
check::Finding searched(check::Space<Model>& space, check::SearchOptions options) {
  if (is_captured()) {
    options.threads = 1;
    options.progress = [](const check::Progress&) { return !interrupted(); };
    return check::Search<Model>(space, options).run();
  }
  const InterruptGuard guard;
  report::Progress progress({.what = "states", .unit = "states"}, steady_now,
                            report::stderr_terminal());
  std::uint64_t shown = 0;
  if (options.threads == 0)
    options.threads = std::clamp(std::thread::hardware_concurrency(), 1U, 2U);
  options.progress = [&](const check::Progress& at) {
    progress.add(at.states - shown);
    shown = at.states;
    progress.draw();
    return !interrupted();
  };
  check::Finding finding = check::Search<Model>(space, options).run();
  progress.finish();
  return finding;
}

}  // namespace tempo::cli
