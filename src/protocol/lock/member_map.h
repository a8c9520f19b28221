// Converts voter sets between the lock machines, where members are numbers, and datagrams or disk
// records, where they are hosts. Members are numbered in the order of their hosts' ids: all hosts
// find the same order, though not the same numbers.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "protocol/lock/lease/lease_rules.h"
#include "protocol/wire/directory.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

// Numbers hosts in the order of their ids. kNobody: unknown host; kNoHost: unknown number.
struct Numbering {
  std::function<NodeId(HostId)> number_of{};
  std::function<HostId(NodeId)> host_of{};
};

// The first view: one vote for each host, in this order.
wire::LockVoters first_voters(const std::vector<HostId>& hosts);

wire::LockVoters voters_of(const lock::lease::View& view, const wire::Directory& hosts);
// Unset: one of the voters cannot be numbered.
std::optional<lock::lease::View> view_of(const wire::LockVoters& voters, wire::Directory& hosts);

}  // namespace tempo::locks
