// What all commands of `tempo check` do alike: search with a line of progress, and say how it
// ended.
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

// Says why on standard error; the exit status.
int refuse_check(const std::string& why);

// How much was looked at and how fast, and whether that was all.
Json json_of(const check::Finding& finding);
void print_counts(const check::Finding& finding);
int status_of(const check::Finding& finding);

// Runs a search with a line of progress; Ctrl-C ends it and leaves what was found. Of the options
// `progress` is ours, and no threads mean as many as there are cores, at most two.
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
