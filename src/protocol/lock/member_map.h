// Maps hosts to members of the lock machines, and converts voter sets between the machines and
// datagrams or disk records. Members are numbered in the order of their hosts' ids: all hosts find
// the same order, though not the same numbers.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "protocol/lock/lease/lease_rules.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

// Numbers hosts in the order of their ids. kNobody: unknown host; kNoHost: unknown number.
struct Numbering {
  std::function<NodeId(HostId)> number_of{};
  std::function<HostId(NodeId)> host_of{};
};

class MemberMap {
 public:
  explicit MemberMap(Numbering hosts) : hosts_(std::move(hosts)) {}

  std::optional<NodeId> member_of(HostId host) const {
    const NodeId number = host == kNoHost ? kNobody : hosts_.number_of(host);
    if (number == kNobody || index(number) >= kMaxNodes) return std::nullopt;
    return number;
  }
  HostId host_of(NodeId member) const {
    return member == kNobody ? kNoHost : hosts_.host_of(member);
  }

 private:
  Numbering hosts_;
};

// The first view: one vote for each host, in this order.
wire::LockVoters first_voters(const std::vector<HostId>& hosts);

wire::LockVoters voters_of(const lock::lease::View& view, const MemberMap& members);
// Unset: one of the voters has no member number.
std::optional<lock::lease::View> view_of(const wire::LockVoters& voters, const MemberMap& members);

}  // namespace tempo::locks
