// What `tempo watch` remembers and how it reads: a pure function of what has arrived.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"

namespace tempo::cli {

enum class Look : unsigned char { plain, title, good, warning, faint };

struct ScreenLine {
  std::string text;  // UTF-8, no longer than the screen is wide
  Look look = Look::plain;
};

class WatchView {
 public:
  static constexpr std::size_t kHistory = 120;  // samples of each clock
  static constexpr std::size_t kEvents = 200;

  void take(const obs::Snapshot& snapshot);
  void take(const ipc::Event& event);
  void lost(const std::string& why) { trouble_ = why; }  // until the next snapshot

  // The whole screen. `unicode`: sparklines of blocks, otherwise of ASCII.
  std::vector<ScreenLine> screen(std::size_t width, std::size_t height, bool unicode) const;

 private:
  ScreenLine member_line(const obs::MemberView& member, std::size_t name_width, std::size_t width,
                         bool unicode) const;

  obs::Snapshot last_;
  bool any_ = false;
  std::string trouble_;
  std::map<std::string, std::deque<double>> offsets_;  // by id; only of who is a member now
  std::deque<std::string> events_;
};

// One line for a pipe or a log.
std::string watch_line(const obs::Snapshot& snapshot);
std::string event_text(const ipc::Event& event);

// The newest `width` values by size, from the smallest to the largest of them.
std::string sparkline(const std::deque<double>& values, std::size_t width, bool unicode);

}  // namespace tempo::cli
