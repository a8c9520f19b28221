// Trace of the messages and states of this daemon, in the format of the simulator
// (lab/sim/trace.h).
//
// Hosts are numbered in the order of appearance, this host first; a comment line names each number.
// Lines are kept only while the trace is on or a client follows it, at most kMaxLines.
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
  static constexpr std::size_t kMaxLines = 2048;

  // A host of the trace; kNobody: all hosts.
  struct Peer {
    NodeId node = kNobody;
    std::string name{};
  };

  LiveTrace(Instant start, const Peer& self);

  // Turning it on again discards the earlier lines.
  void keep(Instant now, bool on);
  void follow(Instant now);  // adds a follower
  void unfollow();
  bool on() const { return kept_ || followers_ > 0; }

  void sent(Instant now, const Peer& to, std::string_view message);
  void received(Instant now, const Peer& from, std::string_view message);
  void becomes(Instant now, std::string_view state);

  // The comment lines that name the numbers, for a client that starts to follow late.
  const std::vector<std::string>& names() const { return names_; }
  std::uint64_t so_far() const { return so_far_; }
  template <class Visit>
  void since(std::uint64_t seen, Visit visit) const {
    const std::uint64_t first = so_far_ - lines_.size();
    for (std::uint64_t i = std::max(seen, first); i < so_far_; ++i) visit(lines_[i - first]);
  }

 private:
  void begin(Instant now);
  std::string number(const Peer& peer);
  void add(std::string line);
  std::string at(Instant now) const;

  Instant start_;
  bool kept_ = false;
  std::uint32_t followers_ = 0;
  std::map<NodeId, std::size_t> numbers_;  // at most one per host of the directory
  std::vector<std::string> names_;         // one line per host
  std::string state_;  // current state of this host, also while the trace is off
  std::deque<std::string> lines_;
  std::uint64_t so_far_ = 0;
};

}  // namespace tempo::daemon
