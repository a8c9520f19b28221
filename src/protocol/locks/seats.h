// Which host is which member of the lease machine. Voters come first, in their order; of the others
// each has a number behind them, in the order of their ids. So everybody finds the same order,
// though not the same numbers.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "protocol/lock/lease_rules.h"

namespace tempo::locks {

// Hosts by numbers that are in the order of their ids; kNobody and kNoHost: unknown.
struct Numbering {
  std::function<NodeId(HostId)> number_of{};
  std::function<HostId(NodeId)> host_of{};
};

class Seats {
 public:
  Seats(std::vector<HostId> voters, Numbering others)
      : voters_(std::move(voters)), others_(std::move(others)) {}

  std::optional<NodeId> seat_of(HostId host) const {
    const auto found = std::ranges::find(voters_, host);
    if (found != voters_.end()) return NodeId{static_cast<std::uint32_t>(found - voters_.begin())};
    const NodeId number = others_.number_of(host);
    if (number == kNobody || index(number) + kFirstOther >= kMaxNodes) return std::nullopt;
    return NodeId{index(number) + kFirstOther};
  }
  HostId host_of(NodeId seat) const {
    if (seat == kNobody) return kNoHost;
    if (index(seat) < voters_.size()) return voters_[index(seat)];
    if (index(seat) < kFirstOther) return kNoHost;
    return others_.host_of(NodeId{index(seat) - kFirstOther});
  }
  const std::vector<HostId>& voters() const { return voters_; }

 private:
  static constexpr std::uint32_t kFirstOther = lock::lease::kMostVoters;

  std::vector<HostId> voters_;
  Numbering others_;
};

// Each voter has one vote.
inline lock::lease::View view_of(const Seats& seats) {
  return lock::lease::one_vote_each(static_cast<std::uint32_t>(seats.voters().size()));
}

}  // namespace tempo::locks
