// What is to happen outside the machines, by time and then by the order of planning.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/units.h"

namespace tempo::sim::lease {

template <class What>
class Agenda {
 public:
  struct Entry {
    Instant at;
    std::uint64_t order = 0;
    What what;
  };

  void add(Instant at, const What& what) { queue_.push({at, ++made_, what}); }
  Instant first() const { return queue_.empty() ? kNever : queue_.top().at; }
  What take() {
    What what = queue_.top().what;
    queue_.pop();
    return what;
  }

 private:
  struct Later {
    bool operator()(const Entry& one, const Entry& other) const {
      return one.at != other.at ? one.at > other.at : one.order > other.order;
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
  std::uint64_t made_ = 0;
};

}  // namespace tempo::sim::lease
