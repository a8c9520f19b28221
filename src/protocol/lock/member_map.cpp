#include "protocol/lock/member_map.h"

namespace tempo::locks {

using lock::lease::View;

static_assert(wire::LockVoters::kMax == lock::lease::kMaxVoters);

wire::LockVoters first_voters(const std::vector<HostId>& hosts) {
  wire::LockVoters voters{.number = 1};
  for (const HostId host : hosts) voters.slots.push_back({.host = host, .votes = 1});
  return voters;
}

wire::LockVoters voters_of(const View& view, const wire::Directory& hosts) {
  wire::LockVoters voters{.number = view.number};
  std::uint32_t slots = 0;
  for (std::uint32_t i = 0; i < lock::lease::kMaxVoters; ++i)
    if (view.votes[i] > 0) slots = i + 1;
  for (std::uint32_t i = 0; i < slots; ++i)
    voters.slots.push_back({.host = hosts.host_of(view.slots[i]), .votes = view.votes[i]});
  return voters;
}

std::optional<View> view_of(const wire::LockVoters& voters, wire::Directory& hosts) {
  View view{.number = voters.number};
  for (std::size_t i = 0; i < voters.slots.size(); ++i) {
    if (voters.slots[i].host == kNoHost) continue;
    view.slots[i] = hosts.number_of(voters.slots[i].host);
    if (view.slots[i] == kNobody) return std::nullopt;
    view.votes[i] = voters.slots[i].votes;
  }
  return view;
}

}  // namespace tempo::locks
