#include "protocol/wire/directory.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "protocol/wire/wire_mutation.h"

namespace tempo::wire {

// --- numbers ---

std::optional<NodeId> Directory::free_number(HostId id) const {
  constexpr int kShift = 64 - 20;
  static_assert(kMaxNodes == 1U << 20);
  const auto next = numbers_.lower_bound(id);
  const std::int64_t wanted = static_cast<std::int64_t>(std::to_underlying(id) >> kShift);
  const std::int64_t lowest =
      next == numbers_.begin() ? 0 : std::int64_t{index(std::prev(next)->second.node)} + 1;
  const std::int64_t highest = next == numbers_.end() ? std::int64_t{kMaxNodes} - 1
                                                      : std::int64_t{index(next->second.node)} - 1;
  if (lowest > highest) return std::nullopt;
  return NodeId{static_cast<std::uint32_t>(std::clamp(wanted, lowest, highest))};
}

// Null: there is no number for it.
Directory::Number* Directory::assign(HostId id, bool heard) {
  if (id == kNoHost) return nullptr;
  auto found = numbers_.find(id);
  if (found == numbers_.end()) {
    if (numbers_.size() >= kMaxNumbers) return nullptr;
    if (!heard && mentioned_numbers_ >= kMaxMentionedNumbers) return nullptr;
    const std::optional<NodeId> node = free_number(id);
    if (!node) return nullptr;
    found = numbers_.emplace(id, Number{.node = *node}).first;
    ids_[*node] = id;
    ++mentioned_numbers_;
  }
  if (heard && !std::exchange(found->second.heard, true)) --mentioned_numbers_;
  return &found->second;
}

NodeId Directory::number_of(HostId id) {
  if (const auto found = numbers_.find(id); found != numbers_.end()) return found->second.node;
  const Host* host = admit(id);
  return host == nullptr ? kNobody : host->node;
}

HostId Directory::host_of(NodeId node) const {
  const auto found = ids_.find(node);
  return found == ids_.end() ? kNoHost : found->second;
}

std::uint32_t Directory::changes_of(HostId id) const {
  if (const Host* host = find(id)) return host->changes;
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? 0 : found->second.changes;
}

// --- entries ---

bool Directory::can_hear(HostId id) const {
  return numbers_.contains(id) ||
         (id != kNoHost && numbers_.size() < kMaxNumbers && free_number(id).has_value());
}

Directory::Host* Directory::hear(Instant now, HostId id, Incarnation incarnation, Nonce nonce) {
  const Number* const number = assign(id, true);
  if (number == nullptr) return nullptr;
  Host* host = find(id);
  if (host == nullptr || !host->heard) {
    make_room(now);
    ++heard_;
    if (host != nullptr) std::erase(mentioned_, id);
    if (host == nullptr) host = &insert(id, *number);
  }
  if (!host->heard || host->incarnation != incarnation || host->nonce != nonce) {
    // The responses of the process before this one are of no use any more.
    if (host->heard && !mutated(Mutation::earlier_process_returns)) ++host->changes;
    const bool returns = host->heard && host->earlier_nonce != Nonce{} &&
                         host->earlier == incarnation && host->earlier_nonce == nonce;
    if (returns && !mutated(Mutation::returns_unnoticed)) ++host->returns;
    if (host->heard) host->earlier = host->incarnation;
    if (host->heard) host->earlier_nonce = host->nonce;
    host->heard = true;
    host->incarnation = incarnation;
    host->nonce = nonce;
    if (!mutated(Mutation::networks_stay)) host->networks = 0;
    host->since = now;
    host->window = {};
  }
  host->last_heard = now;
  return host;
}

Directory::Host* Directory::admit(HostId id) {
  if (Host* const known = find(id)) return known;
  const Number* const number = assign(id, false);
  if (number == nullptr) return nullptr;
  if (mentioned_.size() >= kMaxMentioned) forget_oldest_mentioned();
  mentioned_.push_back(id);
  return &insert(id, *number);
}

void Directory::forget_oldest_mentioned() {
  const auto oldest =
      std::ranges::find_if(mentioned_, [this](HostId id) { return !kept(hosts_.at(id)); });
  if (oldest == mentioned_.end()) return;  // all are voters
  erase(*oldest);
  mentioned_.erase(oldest);
}

Directory::Host& Directory::insert(HostId id, const Number& number) {
  Host& host = hosts_[id];
  host.id = id;
  host.node = number.node;
  host.changes = number.changes;
  return host;
}

// Earlier datagrams to the host are of no use when it returns: its replay window is gone.
void Directory::erase(HostId id) {
  const auto host = hosts_.find(id);
  numbers_.at(id).changes = host->second.changes + (host->second.heard ? 1 : 0);
  hosts_.erase(host);
}

// Evicts several at once, so that a flood of new hosts costs little.
void Directory::make_room(Instant now) {
  if (heard_ < kMaxHosts) return;
  std::vector<const Host*> all;
  for (const auto& [id, host] : hosts_)
    if (host.heard && !kept(host)) all.push_back(&host);
  const auto rank = [](const Host* host) {
    return std::tuple(host->proved - host->since >= kEstablishedAfter, host->last_heard, host->id);
  };
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kEvictedAtOnce));
  std::ranges::partial_sort(all, end, {}, rank);
  all.erase(end, all.end());
  newly_evicted_.clear();
  for (const Host* host : all) {
    newly_evicted_.push_back(host->node);
    erase(host->id);
  }
  heard_ -= all.size();
  evicted_ += all.size();
  evicted_at_ = now;
}

std::vector<NodeId> Directory::take_evicted() { return std::exchange(newly_evicted_, {}); }

void Directory::set_voters(std::span<const HostId> voters) {
  if (std::ranges::equal(voters_, voters)) return;
  voters_.assign(voters.begin(), voters.end());
  for (auto& [id, host] : hosts_) host.votes = false;
  for (const HostId voter : voters)
    if (Host* const host = admit(voter)) host->votes = true;
}

const Directory::Host* Directory::find(HostId id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

Directory::Host* Directory::find(HostId id) {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

const Directory::Host* Directory::find(NodeId node) const { return find(host_of(node)); }

}  // namespace tempo::wire
