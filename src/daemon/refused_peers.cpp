#include "daemon/refused_peers.h"

#include <algorithm>

namespace tempo::daemon {
namespace {

using wire::DropReason;

bool tells(DropReason reason) {
  return reason == DropReason::other_cluster || reason == DropReason::not_sealed ||
         reason == DropReason::unknown_key || reason == DropReason::forged ||
         reason == DropReason::not_live;
}

}  // namespace

void RefusedPeers::refuse(Instant now, const sys::Address& from, DropReason reason) {
  if (!tells(reason)) return;
  const sys::Address address = from.with_port(0);
  std::erase_if(entries_, [now](const Entry& entry) { return now - entry.last > kExpiry; });
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.reason == reason && entry.address == address;
  });
  if (found != entries_.end()) {
    found->last = now;
    ++found->count;
  } else if (entries_.size() < kMaxEntries) {
    entries_.push_back(
        {.address = address, .reason = reason, .first = now, .last = now, .count = 1});
  }
}

void RefusedPeers::accept(const sys::Address& from) {
  if (entries_.empty()) return;
  const sys::Address address = from.with_port(0);
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.reason == DropReason::not_live && entry.address == address;
  });
}

std::vector<RefusedPeers::Entry> RefusedPeers::entries(Instant now) const {
  std::vector<Entry> found;
  for (const Entry& entry : entries_)
    if (now - entry.last <= kExpiry &&
        (entry.reason != DropReason::not_live || entry.last - entry.first >= kMuteAfter))
      found.push_back(entry);
  return found;
}

}  // namespace tempo::daemon
