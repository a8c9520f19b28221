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

report::Progress::Options options_for(const Machines& machines, std::uint64_t cells) {
  report::Progress::Options options{.what = "sweep", .total = cells, .unit = "cells"};
  if (machines.count() > 1 && !report::stderr_terminal().present) options.redraw_every = kLineEvery;
  return options;
}

report::Terminal terminal_for(const Machines& machines) {
  if (machines.rank() != 0) return {};
  const report::Terminal terminal = report::stderr_terminal();
  return terminal.present || machines.count() == 1 ? terminal : report::stderr_lines();
}

}  // namespace

SweepProgress::SweepProgress(Machines& machines, const Cells& cells)
    : machines_(&machines),
      kept_(cells.kept),
      progress_(options_for(machines, cells.all), steady_now, terminal_for(machines)),
      told_(machines.count()),
      next_word_(steady_now()) {
  progress_.keep(kept_);
  told_.front().ended = true;  // nobody waits for the first
}

void SweepProgress::look() {
  if (machines_->rank() == 0) {
    receive();
    progress_.draw();
  } else if (const Instant now = steady_now(); now >= next_word_) {
    next_word_ = now + kWordEvery;
    notify(false);
  }
}

void SweepProgress::finish() {
  if (machines_->rank() != 0) {
    notify(true);
    return;
  }
  for (receive(); !std::ranges::all_of(told_, &Headway::ended); look())
    std::this_thread::sleep_for(kPause);
  progress_.finish();
}

void SweepProgress::notify(bool ended) {
  machines_->notify({.kept = kept_, .done = progress_.done() - kept_, .ended = ended});
}

void SweepProgress::receive() {
  while (const auto word = machines_->receive()) {
    Headway& before = told_[word->from];
    progress_.keep(word->headway.kept - before.kept);
    progress_.add(word->headway.done - before.done);
    before = word->headway;
  }
}

}  // namespace tempo::cli
