// Properties of the terminal: width, character set, colours, and one line that is rewritten while a
// command waits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tempo::cli {

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();
std::size_t stdout_width();   // columns; 100 if it is not a terminal
bool stdout_shows_unicode();  // by the locale; true if it is not a terminal
// Whether standard output gets colours: it is a terminal that has them, and the environment does
// not set NO_COLOR to a text.
bool stdout_color();

// The next line of standard input, without its end; empty at the end of the input. Flushes standard
// output first.
std::string read_line();

enum class Color : unsigned char { red, yellow, green };
// `text` in this colour; unchanged without stdout_color().
std::string colored(std::string_view text, Color color);

// One line on standard error, rewritten in place: it says what a command waits for. The destructor
// erases it. It prints nothing if standard error is not a terminal.
class WaitLine {
 public:
  // `enabled` false: it prints nothing.
  explicit WaitLine(bool enabled = true) : active_(enabled && stderr_is_terminal()) {}
  ~WaitLine() { clear(); }
  WaitLine(const WaitLine&) = delete;
  WaitLine& operator=(const WaitLine&) = delete;

  bool active() const { return active_; }
  void show(const std::string& text);
  void clear();

 private:
  bool active_;
  std::string shown_;  // empty: the line is clear
};

}  // namespace tempo::cli
