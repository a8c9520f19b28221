// State and text of `tempo watch`: a pure function of the replies that arrived.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "base/units.h"

namespace tempo::cli {

enum class Look : unsigned char { plain, title, good, warning, faint };

struct ScreenLine {
  std::string text;  // UTF-8, at most as many characters as the screen has columns
  Look look = Look::plain;
};

// The last offsets of one clock, and the scale of their sparkline. The scale widens at once when a
// value lies outside it. It narrows only when a full history uses less than a quarter of it, so
// that the same mark means the same offset from one screen to the next.
class OffsetHistory {
 public:
  static constexpr std::size_t kSize = 120;  // values

  void add(double value);
  // The newest `width` values. `unicode`: blocks, otherwise ASCII.
  std::string sparkline(std::size_t width, bool unicode) const;

 private:
  std::deque<double> values_;  // oldest first
  double low_ = 0;             // the smallest mark
  double high_ = 0;            // the largest mark
};

class WatchView {
 public:
  static constexpr std::size_t kEvents = 200;

  void take(const obs::Snapshot& snapshot);
  void take(const ipc::Event& event);
  // tempod has not been reachable for this long; the next snapshot ends it.
  void set_unreachable(Nanos time) { unreachable_ = time; }

  // The whole screen. `unicode`: sparklines of blocks, otherwise of ASCII.
  std::vector<ScreenLine> screen(std::size_t width, std::size_t height, bool unicode) const;

 private:
  ScreenLine member_line(const obs::MemberView& member, std::size_t name_width, std::size_t width,
                         bool unicode) const;

  obs::Snapshot last_;
  bool any_ = false;                              // `last_` is valid
  std::optional<Nanos> unreachable_;              // nullopt: tempod is reachable
  std::map<std::string, OffsetHistory> offsets_;  // by id; current members only
  std::deque<std::string> events_;                // oldest first
};

// One line for a pipe or a log.
std::string watch_line(const obs::Snapshot& snapshot);
std::string event_text(const ipc::Event& event);

// Status, networks, masters, members and the rounded offset, as a text to compare: a plain watch
// prints a line only when this changes. The offset is rounded to one significant digit; below 1 us
// it is 0.
std::string change_key(const obs::Snapshot& snapshot);

}  // namespace tempo::cli
