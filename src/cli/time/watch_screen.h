// A full screen, drawn with ncurses; the destructor restores the terminal.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cli/time/watch_view.h"

namespace tempo::cli {

class WatchScreen {
 public:
  // Null if the terminal cannot address the cursor.
  static std::unique_ptr<WatchScreen> open();
  ~WatchScreen();
  WatchScreen(const WatchScreen&) = delete;
  WatchScreen& operator=(const WatchScreen&) = delete;

  std::size_t width() const;
  std::size_t height() const;
  void draw(const std::vector<ScreenLine>& lines);
  bool quit_pressed();  // since the previous call; does not wait

 private:
  WatchScreen() = default;
};

}  // namespace tempo::cli
