#include "lab/report/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/display_text.h"

namespace tempo::report {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr std::size_t kBarCells = 20;

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

// "3m 20s", "45s": whole seconds.
std::string wait_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  if (whole >= 3600) return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string rate_text(double per_second) {
  if (per_second >= 100) return grouped(static_cast<std::uint64_t>(std::llround(per_second)));
  return fmt::format("{:.1f}", per_second);
}

void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Terminal stderr_terminal() {
  Terminal terminal;
  const char* kind = std::getenv("TERM");
  if (isatty(STDERR_FILENO) == 0 || kind == nullptr || std::string_view(kind) == "dumb")
    return terminal;
  terminal.present = true;
  terminal.unicode = locale_is_utf8();
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  terminal.write = write_to_stderr;
  return terminal;
}

Terminal stderr_lines() { return {.present = true, .redraws = false, .write = write_to_stderr}; }

Progress::Progress(Options options, Clock clock, Terminal terminal)
    : options_(std::move(options)),
      clock_(std::move(clock)),
      terminal_(std::move(terminal)),
      started_(clock_()),
      next_draw_(started_ + options_.redraw_every) {}

void Progress::draw() {
  if (!terminal_.present || finished_) return;
  const Instant now = clock_();
  if (now < next_draw_) return;
  next_draw_ = now + options_.redraw_every;
  write(now);
  drawn_ = true;
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (terminal_.present && !terminal_.redraws)
    write(clock_());
  else if (drawn_)
    terminal_.write(kClearLine);
}

void Progress::write(Instant now) const {
  // Leave the last column free: some terminals wrap as soon as it is written.
  const std::size_t width = terminal_.width > 1 ? terminal_.width - 1 : 1;
  const std::string text = line(now - started_, width);
  terminal_.write(terminal_.redraws ? std::string(kClearLine) + text : text + '\n');
}

std::string Progress::line(Nanos elapsed, std::size_t width) const {
  const std::uint64_t done = this->done();
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double rate = seconds > 0 ? static_cast<double>(done - kept_) / seconds : 0;
  const std::string unit = options_.unit.empty() ? "" : ' ' + options_.unit;

  std::string text = options_.what;
  if (options_.total > 0) {
    const std::uint64_t shown = std::min(done, options_.total);
    const double share = static_cast<double>(shown) / static_cast<double>(options_.total);
    if (terminal_.redraws) text += "  " + bar(shown, kBarCells);
    text += fmt::format(" {:3.0f}%  {}/{}{}", std::floor(share * 100), grouped(done),
                        grouped(options_.total), unit);
  } else {
    text += fmt::format("  {}{}", grouped(done), unit);
  }
  if (rate > 0) text += fmt::format("  {}/s", rate_text(rate));
  if (rate > 0 && done < options_.total)
    text += fmt::format("  {} left", wait_text(static_cast<double>(options_.total - done) / rate));
  return clipped(text, width, terminal_.unicode ? "…" : "~");
}

std::string Progress::bar(std::uint64_t done, std::size_t cells) const {
  const auto full = static_cast<std::size_t>(
      static_cast<double>(done) / static_cast<double>(options_.total) * static_cast<double>(cells));
  std::string text = terminal_.unicode ? "" : "[";
  for (std::size_t i = 0; i < cells; ++i) {
    if (terminal_.unicode)
      text += i < full ? "█" : "░";
    else
      text += i < full ? '#' : '.';
  }
  return terminal_.unicode ? text : text + ']';
}

}  // namespace tempo::report
