#include "cli/common/terminal.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tempo::cli {

namespace {

std::size_t width_of(int terminal) {
  winsize size{};
  return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

// At most `width` characters of UTF-8 text.
std::string shortened(const std::string& text, std::size_t width) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U && ++seen > width)
      return text.substr(0, i);
  return text;
}

}  // namespace

bool stdin_is_terminal() { return isatty(STDIN_FILENO) == 1; }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

std::string read_line() {
  constexpr std::size_t kMaxLine = 4096;
  std::fflush(stdout);
  std::string line;
  for (int c = std::getchar(); c != EOF && c != '\n' && line.size() < kMaxLine; c = std::getchar())
    line += static_cast<char>(c);
  return line;
}

std::size_t stdout_width() { return stdout_is_terminal() ? width_of(STDOUT_FILENO) : 100; }

bool stdout_color() {
  if (!stdout_is_terminal()) return false;
  const char* const off = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return (off == nullptr || *off == '\0') && (term == nullptr || std::string_view(term) != "dumb");
}

std::string colored(std::string_view text, Color color) {
  if (!stdout_color()) return std::string(text);
  const int code = color == Color::red ? 31 : color == Color::yellow ? 33 : 32;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

bool stdout_shows_unicode() {
  if (!stdout_is_terminal()) return true;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text = value;
    return text.find("UTF-8") != std::string_view::npos ||
           text.find("utf8") != std::string_view::npos;
  }
  return false;
}

void WaitLine::show(const std::string& text) {
  if (!active_ || text == shown_) return;
  shown_ = text;
  // The last column stays free: a full line would wrap.
  fmt::print(stderr, "\r{}\x1b[K", shortened(text, width_of(STDERR_FILENO) - 1));
  std::fflush(stderr);
}

void WaitLine::clear() {
  if (shown_.empty()) return;
  shown_.clear();
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace tempo::cli
