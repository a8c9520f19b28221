#include "protocol/group/capacity.h"

namespace tempo::election::capacity {
namespace {

bool beats(const Bid& bid, const Bid& best) {
  if (best.node == kNobody) return true;
  if (mutated(Mutation::worst_wins)) return bid < best;
  if (mutated(Mutation::tie_to_lower)) return bid.capacity > best.capacity;
  return bid > best;
}

}  // namespace

Bid Bids::best() const {
  Bid best;
  for (const Bid& bid : bids_)
    if (bid.capacity > kNotCandidate && beats(bid, best)) best = bid;
  return best;
}

}  // namespace tempo::election::capacity
