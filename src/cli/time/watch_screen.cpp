#include "cli/time/watch_screen.h"

#include <clocale>
#include <cstdio>

#define NCURSES_NOMACROS
#include <ncurses.h>
#include <unistd.h>

namespace tempo::cli {
namespace {

constexpr short kGood = 1, kWarning = 2;

SCREEN* terminal = nullptr;  // curses supports one screen per process

attr_t look_of(Look look) {
  switch (look) {
    case Look::title:
      return A_BOLD;
    case Look::good:
      return has_colors() ? static_cast<attr_t>(COLOR_PAIR(kGood)) : A_BOLD;
    case Look::warning:
      return has_colors() ? static_cast<attr_t>(COLOR_PAIR(kWarning)) : A_REVERSE;
    case Look::faint:
      return A_DIM;
    case Look::plain:
      break;
  }
  return A_NORMAL;
}

}  // namespace

std::unique_ptr<WatchScreen> WatchScreen::open() {
  std::setlocale(LC_ALL, "");
  terminal = newterm(nullptr, stdout, stdin);  // unlike initscr it returns on failure
  if (terminal == nullptr) return nullptr;
  set_term(terminal);
  if (has_colors()) {
    start_color();
    use_default_colors();
    init_pair(kGood, COLOR_GREEN, -1);
    init_pair(kWarning, COLOR_YELLOW, -1);
  }
  cbreak();
  noecho();
  curs_set(0);
  nodelay(stdscr, true);
  keypad(stdscr, true);  // a change of size and arrows arrive as keys
  return std::unique_ptr<WatchScreen>(new WatchScreen);
}

WatchScreen::~WatchScreen() {
  endwin();
  delscreen(terminal);
  terminal = nullptr;
}

std::size_t WatchScreen::width() const { return static_cast<std::size_t>(getmaxx(stdscr)); }
std::size_t WatchScreen::height() const { return static_cast<std::size_t>(getmaxy(stdscr)); }

void WatchScreen::draw(const std::vector<ScreenLine>& lines) {
  erase();
  for (std::size_t i = 0; i < lines.size() && i < height(); ++i) {
    attrset(static_cast<int>(look_of(lines[i].look)));
    mvaddnstr(static_cast<int>(i), 0, lines[i].text.c_str(), -1);
  }
  attrset(A_NORMAL);
  refresh();
}

bool WatchScreen::quit_pressed() {
  bool quit = false;
  for (int key = getch(); key != ERR; key = getch()) quit = quit || key == 'q' || key == 'Q';
  return quit;
}

}  // namespace tempo::cli
