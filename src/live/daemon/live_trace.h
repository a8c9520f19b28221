// What this daemon sends, hears and becomes, as lines in the simulator's format.
//
// Hosts are numbered as they come up, this one first; a comment line says who a number is. Kept
// only while somebody follows, and never more than kMost lines.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/units.h"

namespace tempo::daemon {

class LiveTrace {
 public:
  static constexpr std::size_t kMost = 4096;

  explicit LiveTrace(Instant start) : start_(start) {}

  void follow(bool on) { on_ = on; }
  bool on() const { return on_; }

  // Names are used the first time a node is seen.
  void sent(Instant now, NodeId from, NodeId to, std::string_view message);
  void received(Instant now, NodeId from, NodeId to, std::string_view message);
  void becomes(Instant now, NodeId node, std::string_view state);
  void name(NodeId node, std::string_view name);

  std::uint64_t so_far() const { return so_far_; }
  template <class Visit>
  void since(std::uint64_t told, Visit visit) const {
    const std::uint64_t kept = so_far_ - lines_.size();
    for (std::uint64_t i = std::max(told, kept); i < so_far_; ++i) visit(lines_[i - kept]);
  }

 private:
  std::string number(NodeId node);
  void add(std::string line);
  std::string at(Instant now) const;

  Instant start_;
  bool on_ = false;
  std::map<NodeId, std::uint32_t> numbers_;
  std::deque<std::string> lines_;
  std::uint64_t so_far_ = 0;
};

}  // namespace tempo::daemon
