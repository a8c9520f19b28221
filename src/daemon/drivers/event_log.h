// The events of the daemon, for the log, the hook and clients. It keeps the newest ones.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/units.h"
#include "daemon/parent_line.h"

namespace tempo::daemon {

struct Event {
  std::string what;        // became-master, lost-master, master-changed, two-masters, slept, ...
  std::string details;     // one sentence for users
  std::int64_t at_ns = 0;  // time of the steered clock
};

class EventLog {
 public:
  static constexpr std::size_t kMaxEvents = 64;

  // `now` reads the steered clock. Without a parent (null) no hook runs.
  EventLog(std::function<WallTime()> now, const ParentLine* parent)
      : now_(std::move(now)), parent_(parent) {}

  void emit(std::string what, std::string details);

  const std::deque<Event>& newest() const { return events_; }  // oldest first
  std::uint64_t count() const { return count_; }               // since the start
  // By name, since the start. The daemon has a few dozen names.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

 private:
  std::function<WallTime()> now_;
  const ParentLine* parent_;
  std::deque<Event> events_;
  std::uint64_t count_ = 0;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace tempo::daemon
