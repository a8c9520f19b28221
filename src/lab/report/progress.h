// How far long work has come, on one line of a terminal: what, how far, how fast, how long still.
//
// Any thread may add(); only the thread that made the Progress calls keep(), draw() and finish().
// The line is redrawn at most every `redraw_every`, and nothing at all is written where there is no
// terminal. Where lines cannot be redrawn each is a line of its own, without a bar, and the last
// one says how far it came. Time comes from the clock that is passed in.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace tempo::report {

// Where a Progress draws. A default one is no terminal.
struct Terminal {
  bool present = false;
  bool redraws = true;  // else what is written stays
  bool unicode = false;
  std::size_t width = 80;
  std::function<void(std::string_view)> write{};
};

// The process's standard error; present only if it is a terminal that can redraw a line.
Terminal stderr_terminal();
// The same, whatever it is: lines that are written one below the other.
Terminal stderr_lines();

class Progress {
 public:
  struct Options {
    std::string what{};       // "seeds 1..20000"
    std::uint64_t total = 0;  // 0: nobody knows
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
  // So much was done by an earlier run: it is done, and says nothing of how fast this one is.
  void keep(std::uint64_t count) {
    kept_ += count;
    add(count);
  }

  // What is worked at from now on. Only for the thread that draws.
  void go_on_with(std::string what) { options_.what = std::move(what); }

  // Redraws the line if it is time to.
  void draw();
  // Clears the line, or says the last one; what is printed next starts where it was, or below it. A
  // second call does nothing.
  void finish();

  // The line as it would be drawn after this much time, at most this wide.
  std::string line(Nanos elapsed, std::size_t width) const;

 private:
  void write(Instant now) const;
  std::string bar(std::uint64_t done, std::size_t cells) const;

  Options options_;
  Clock clock_;
  Terminal terminal_;
  std::atomic<std::uint64_t> done_{0};
  std::uint64_t kept_ = 0;  // of what is done
  Instant started_;
  Instant
      next_draw_;  // not before; the first is one period after the start, short work shows nothing
  bool drawn_ = false;
  bool finished_ = false;
};

}  // namespace tempo::report
