#include "protocol/lock/lease/lease_rules.h"

#include <algorithm>

#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::lock::lease {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kBillion = 1'000'000'000;

// span * by / of, rounded down or up. Long spans overflow a product of 64 bits.
Nanos scaled(Nanos span, std::int64_t by, std::int64_t of, bool up) {
  const Wide product = static_cast<Wide>(span.count()) * by + (up ? of - 1 : 0);
  return Nanos{static_cast<Nanos::rep>(product / of)};
}

}  // namespace

Nanos Rules::renew_gap(Nanos length) const { return std::max(length / 16, unit); }

Nanos Rules::register_delay(Nanos length) const { return std::max(length / 250, unit); }

Nanos Rules::hold(Nanos length) const {
  if (mutated(Mutation::no_drift_margin)) return length;
  return scaled(length, kBillion - drift.value, kBillion, false) - unit;
}

Nanos Rules::keep(Nanos length) const {
  if (mutated(Mutation::no_drift_margin)) return length;
  return scaled(length, kBillion + drift.value, kBillion, true) + unit;
}

Nanos Rules::shrink(Nanos left) const {
  if (mutated(Mutation::no_drift_margin)) return left;
  return scaled(left, kBillion - drift.value, kBillion + drift.value, false) - unit;
}

Nanos Rules::stretch(Nanos span) const {
  return scaled(span, kBillion + drift.value, kBillion - drift.value, true) + unit;
}

std::optional<std::uint32_t> View::slot_of(NodeId member) const {
  for (std::uint32_t i = 0; i < kMaxVoters; ++i)
    if (votes[i] > 0 && slots[i] == member) return i;
  return std::nullopt;
}

Voters View::bit_of(NodeId member) const {
  const auto slot = slot_of(member);
  return slot ? static_cast<Voters>(1U << *slot) : Voters{0};
}

bool View::quorum(Voters in_favour) const {
  unsigned all = 0;
  unsigned yes = 0;
  for (std::uint32_t i = 0; i < kMaxVoters; ++i) {
    all += votes[i];
    if ((in_favour >> i & 1) != 0) yes += votes[i];
  }
  if (available) return yes > 0;
  return mutated(Mutation::half_is_enough) ? yes * 2 >= all : yes * 2 > all;
}

Voters View::voters() const {
  Voters all = 0;
  for (std::uint32_t i = 0; i < kMaxVoters; ++i)
    if (votes[i] > 0) all |= static_cast<Voters>(1U << i);
  return all;
}

View one_vote_each(std::uint32_t voters) {
  View view;
  for (std::uint32_t i = 0; i < std::min(voters, kMaxVoters); ++i) {
    view.slots[i] = NodeId{i};
    view.votes[i] = 1;
  }
  return view;
}

std::optional<View> changed(const View& view, NodeId member, std::uint8_t votes) {
  if (member == kNobody || view.available) return std::nullopt;
  const auto* const free = std::ranges::find(view.votes, std::uint8_t{0});
  const auto slot = view.slot_of(member).value_or(free - view.votes.begin());
  if (slot >= kMaxVoters) return std::nullopt;
  View next = view;
  ++next.number;
  const std::uint8_t now = view.votes[slot];
  const bool by_one = votes == now + 1 || votes + 1 == now;
  next.votes[slot] = votes;
  next.slots[slot] = votes > 0 ? member : kNobody;
  if (!by_one || next.voters() == 0) return std::nullopt;
  return next;
}

View two_members(TwoNode policy) {
  View view = one_vote_each(policy == TwoNode::witness ? 3 : 2);
  if (policy == TwoNode::preferred) view.votes[0] = 2;
  view.available = policy == TwoNode::available;
  return view;
}

}  // namespace tempo::lock::lease
