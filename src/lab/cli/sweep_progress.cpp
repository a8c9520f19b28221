#include "lab/cli/sweep_progress.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/common/interrupt.h"

namespace tempo::cli {
namespace {

constexpr Nanos kWordEvery = 500ms;
constexpr Nanos kLineEvery = 3s;
constexpr std::chrono::milliseconds kPause{20};  // of the first, while it waits for the others

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
      told_(mpi_group.count()),
      next_word_(steady_now()) {
  progress_.keep(kept_);
  told_.front().ended = true;  // nobody waits for the first
}

void SweepProgress::look() {
  if (mpi_group_->rank() == 0) {
    receive();
    progress_.draw();
  } else if (const Instant now = steady_now(); now >= next_word_) {
    next_word_ = now + kWordEvery;
    notify(false);
  }
}

void SweepProgress::finish() {
  if (mpi_group_->rank() != 0) {
    notify(true);
    return;
  }
  for (receive(); !std::ranges::all_of(told_, &WorkProgress::ended); look())
    std::this_thread::sleep_for(kPause);
  progress_.finish();
}

void SweepProgress::notify(bool ended) {
  mpi_group_->notify({.kept = kept_, .done = progress_.done() - kept_, .ended = ended});
}

void SweepProgress::receive() {
  while (const auto word = mpi_group_->receive()) {
    WorkProgress& before = told_[word->from];
    progress_.keep(word->progress.kept - before.kept);
    progress_.add(word->progress.done - before.done);
    before = word->progress;
  }
}

}  // namespace tempo::cli
