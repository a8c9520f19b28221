// Planned events outside the machines, ordered by time and then by the order of planning.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/units.h"
#include "machine/machine.h"

namespace tempo::sim {

// The type of a watch's planned events; Nothing: it plans none.
template <class Watch>
struct PlannedEvent {
  using type = Nothing;
};
template <class Watch>
  requires requires { typename Watch::Event; }
struct PlannedEvent<Watch> {
  using type = typename Watch::Event;
};

template <class Event>
class Agenda {
 public:
  struct Entry {
    Instant at;
    std::uint64_t order = 0;
    Event event;
  };

  void add(Instant at, const Event& event) { queue_.push({at, ++planned_, event}); }
  Instant first() const { return queue_.empty() ? kNever : queue_.top().at; }
  Event take() {
    Event event = queue_.top().event;
    queue_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Entry& one, const Entry& other) const {
      return one.at != other.at ? one.at > other.at : one.order > other.order;
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
  std::uint64_t planned_ = 0;
};

}  // namespace tempo::sim
