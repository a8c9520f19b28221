#include "protocol/wire/directory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tempo::wire {

Directory::Host* Directory::admit(HostId id) {
  if (id == kNoHost) return nullptr;
  const auto next = hosts_.lower_bound(id);
  if (next != hosts_.end() && next->first == id) return &next->second;
  if (hosts_.size() >= kMaxHosts) return nullptr;

  constexpr int kShift = 64 - 20;
  static_assert(kMaxNodes == 1U << 20);
  const std::int64_t wanted = static_cast<std::int64_t>(std::to_underlying(id) >> kShift);
  const std::int64_t lowest =
      next == hosts_.begin() ? 0 : std::int64_t{index(std::prev(next)->second.node)} + 1;
  const std::int64_t highest = next == hosts_.end() ? std::int64_t{kMaxNodes} - 1
                                                    : std::int64_t{index(next->second.node)} - 1;
  if (lowest > highest) return nullptr;
  const NodeId node{static_cast<std::uint32_t>(std::clamp(wanted, lowest, highest))};

  Host& host = hosts_.emplace_hint(next, id, Host{})->second;
  host.id = id;
  host.node = node;
  by_node_[node] = &host;
  return &host;
}

const Directory::Host* Directory::find(HostId id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

Directory::Host* Directory::find(HostId id) {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

const Directory::Host* Directory::find(NodeId node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? nullptr : found->second;
}

HostId Directory::host_of(NodeId node) const {
  const Host* host = find(node);
  return host == nullptr ? kNoHost : host->id;
}

}  // namespace tempo::wire
