#include "daemon/classic/classic_peers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tempo::daemon {
namespace {

constexpr std::uint32_t kStride = 4;  // room that a new last or first host leaves to its neighbour

}  // namespace

std::optional<NodeId> ClassicPeers::heard(const sys::Address& address, std::string_view name) {
  const std::string text = address.text();
  if (const auto found = by_address_.find(text); found != by_address_.end())
    return NodeId{found->second};
  const auto number = place(name);
  if (!number) return std::nullopt;
  by_number_[*number] = {.name = std::string(name), .address = text};
  by_address_[text] = *number;
  return NodeId{*number};
}

std::optional<NodeId> ClassicPeers::known(const sys::Address& address) const {
  const auto found = by_address_.find(address.text());
  return found == by_address_.end() ? std::nullopt : std::optional(NodeId{found->second});
}

const std::string* ClassicPeers::address_of(NodeId id) const {
  const auto found = by_number_.find(std::to_underlying(id));
  return found == by_number_.end() ? nullptr : &found->second.address;
}

// A free number between those of the neighbours in the order of names, or else the nearest one on
// the same side of the own number.
std::optional<std::uint32_t> ClassicPeers::place(std::string_view name) const {
  if (by_number_.size() >= kMax) return std::nullopt;
  const std::uint32_t own = std::to_underlying(kOwn);
  const bool lower = name < own_name_;
  const std::uint32_t first = lower ? 1 : own + 1;
  const std::uint32_t last = lower ? own - 1 : kLast;
  std::uint32_t below = first - 1;
  std::uint32_t above = last + 1;
  bool has_below = false;
  bool has_above = false;
  for (const auto& [number, peer] : by_number_) {
    if (number < first || number > last) continue;
    if (peer.name <= name) {
      below = number;
      has_below = true;
    } else if (!has_above) {
      above = number;
      has_above = true;
    }
  }
  if (above > below + 1) {
    if (has_below && !has_above) return std::min(below + kStride, (below + above) / 2);
    if (has_above && !has_below && above > kStride)
      return std::max(above - kStride, (below + above) / 2);
    return (below + above) / 2;
  }
  const auto free = [&](std::uint32_t number) {
    return number >= first && number <= last && !by_number_.contains(number);
  };
  for (std::uint32_t away = 1; away <= last - first; ++away) {
    if (free(below + away)) return below + away;
    if (below >= away && free(below - away)) return below - away;
  }
  return std::nullopt;
}

}  // namespace tempo::daemon
