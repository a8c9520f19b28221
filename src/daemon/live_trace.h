// What this daemon sends, hears and becomes, as lines in the simulator's format (lab/sim/trace.h).
//
// Hosts are numbered as they come up, this one first; a comment line says who a number is. Kept
// only while it is switched on or somebody follows, and never more than kMost lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace tempo::daemon {

class LiveTrace {
 public:
  static constexpr std::size_t kMost = 2048;

  // A host as the trace tells of it; kNobody: all.
  struct Who {
    NodeId node = kNobody;
    std::string name{};
  };

  LiveTrace(Instant start, const Who& self);

  // What was kept before is gone when it goes on again.
  void keep(Instant now, bool on);
  void follow(Instant now);  // one more who does
  void unfollow();
  bool on() const { return kept_ || followers_ > 0; }

  void sent(Instant now, const Who& to, std::string_view message);
  void received(Instant now, const Who& from, std::string_view message);
  void becomes(Instant now, std::string_view state);

  // Who is who so far, as the lines that said so: for one who begins to follow late.
  const std::vector<std::string>& names() const { return names_; }
  std::uint64_t so_far() const { return so_far_; }
  template <class Visit>
  void since(std::uint64_t told, Visit visit) const {
    const std::uint64_t first = so_far_ - lines_.size();
    for (std::uint64_t i = std::max(told, first); i < so_far_; ++i) visit(lines_[i - first]);
  }

 private:
  void begin(Instant now);
  std::string number(const Who& who);
  void add(std::string line);
  std::string at(Instant now) const;

  Instant start_;
  bool kept_ = false;
  std::uint32_t followers_ = 0;
  std::map<NodeId, std::size_t> numbers_;  // as many as the directory has hosts
  std::vector<std::string> names_;         // a line for each of them
  std::string state_;                      // ours, traced or not
  std::deque<std::string> lines_;
  std::uint64_t so_far_ = 0;
};

}  // namespace tempo::daemon
