#include "lab/cli/sweep/sweep_progress.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/common/interrupt.h"

namespace tempo::cli {
namespace {

constexpr Nanos kReportEvery = 500ms;  // interval of the reports to rank 0
constexpr Nanos kLineEvery = 3s;       // interval of the lines if stderr is not a terminal
constexpr std::chrono::milliseconds kPause{20};  // interval at which rank 0 polls the others

report::Progress::Options options_for(const MpiGroup& mpi_group, std::uint64_t cells) {
  report::Progress::Options options{.what = "sweep", .total = cells, .unit = "cells"};
  if (mpi_group.count() > 1 && !report::stderr_terminal().present)
    options.redraw_every = kLineEvery;
  return options;
}

report::Terminal terminal_for(const MpiGroup& mpi_group) {
  if (mpi_group.rank() != 0) return {};
  const report::Terminal terminal = report::stderr_terminal();
  return terminal.present || mpi_group.count() == 1 ? terminal : report::stderr_lines();
}

}  // namespace

SweepProgress::SweepProgress(MpiGroup& mpi_group, const Cells& cells)
    : mpi_group_(&mpi_group),
      kept_(cells.kept),
      progress_(options_for(mpi_group, cells.all), steady_now, terminal_for(mpi_group)),
      last_(mpi_group.count()),
      next_report_(steady_now()) {
  progress_.keep(kept_);
  last_.front().ended = true;  // rank 0 does not wait for itself
}

void SweepProgress::update() {
  if (mpi_group_->rank() == 0) {
    receive();
    progress_.draw();
  } else if (const Instant now = steady_now(); now >= next_report_) {
    next_report_ = now + kReportEvery;
    notify(false);
  }
}

void SweepProgress::finish() {
  if (mpi_group_->rank() != 0) {
    notify(true);
    return;
  }
  for (receive(); !std::ranges::all_of(last_, &WorkProgress::ended); update())
    std::this_thread::sleep_for(kPause);
  progress_.finish();
}

void SweepProgress::notify(bool ended) {
  mpi_group_->notify({.kept = kept_, .done = progress_.done() - kept_, .ended = ended});
}

void SweepProgress::receive() {
  while (const auto report = mpi_group_->receive()) {
    WorkProgress& before = last_[report->from];
    progress_.keep(report->progress.kept - before.kept);
    progress_.add(report->progress.done - before.done);
    before = report->progress;
  }
}

}  // namespace tempo::cli
