#include "protocol/clock/rejection.h"

#include <algorithm>
#include <tuple>

namespace tempo::clock {

ConsistentGroup largest_consistent(std::span<const Interval> claims) {
  struct Edge {
    double at;
    bool end;  // at equal values begins sort before ends: touching claims are consistent
  };
  std::vector<Edge> edges;
  edges.reserve(2 * claims.size());
  for (const Interval& claim : claims) {
    if (!(claim.low <= claim.high)) continue;
    edges.push_back({.at = claim.low, .end = false});
    edges.push_back({.at = claim.high, .end = true});
  }
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return std::tie(a.at, a.end) < std::tie(b.at, b.end);
  });

  ConsistentGroup group;
  std::size_t largest = 0;
  std::size_t open = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].end) {
      --open;
    } else if (++open > largest) {
      largest = open;
      group.overlap = {.low = edges[i].at, .high = edges[i + 1].at};
    }
  }
  for (std::size_t i = 0; i < claims.size(); ++i)
    if (largest > 0 && claims[i].low <= group.overlap.low && group.overlap.high <= claims[i].high)
      group.members.push_back(i);
  return group;
}

}  // namespace tempo::clock
