// Progress of long work on one line of a terminal: task, share done, rate and time left.
//
// Any thread may call add(); only the creating thread calls keep(), draw() and finish(). The line
// is redrawn at most every `redraw_every`. Without a terminal nothing is written. If lines cannot
// be redrawn, each update is a line of its own without a bar, and finish() writes the final one.
// The caller supplies the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace tempo::report {

// The output of a Progress. The default is no terminal.
struct Terminal {
  bool present = false;
  bool redraws = true;  // can redraw a line; false: each update is a new line
  bool unicode = false;
  std::size_t width = 80;
  std::function<void(std::string_view)> write{};
};

// Standard error; present only if it is a terminal that can redraw a line.
Terminal stderr_terminal();
// Standard error of any kind, written line by line.
Terminal stderr_lines();

class Progress {
 public:
  struct Options {
    std::string what{};       // "seeds 1..20000"
    std::uint64_t total = 0;  // 0: unknown
    std::string unit{};       // "seeds", in "1,200/20,000 seeds"
    Nanos redraw_every = 100ms;
  };
  using Clock = std::function<Instant()>;

  Progress(Options options, Clock clock, Terminal terminal);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t count = 1) { done_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  // Counts work done by an earlier run; it does not affect the rate.
  void keep(std::uint64_t count) {
    kept_ += count;
    add(count);
  }

  // Sets the current task. Only for the creating thread.
  void set_task(std::string what) { options_.what = std::move(what); }

  // Redraws the line if redraw_every has passed.
  void draw();
  // Clears the line, or writes the final one if lines cannot be redrawn. A second call has no
  // effect.
  void finish();

  // The line as drawn after `elapsed`, cut to `width` columns.
  std::string line(Nanos elapsed, std::size_t width) const;

 private:
  void write(Instant now) const;
  std::string bar(std::uint64_t done, std::size_t cells) const;

  Options options_;
  Clock clock_;
  Terminal terminal_;
  std::atomic<std::uint64_t> done_{0};
  std::uint64_t kept_ = 0;  // part of done_ that an earlier run did
  Instant started_;
  Instant next_draw_;  // the first is redraw_every after the start: short work shows nothing
  bool drawn_ = false;
  bool finished_ = false;
};

}  // namespace tempo::report
