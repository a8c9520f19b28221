// The parameters of a lease lock (section 2) and the voting set (section 9).
//
// The holder of a lease of length L holds it for HOLD(L) by its own clock; the grantors keep it for
// KEEP(L) by theirs. The first span ends before the second while both clocks run within `drift` of
// true time. SHRINK does the same for the rest of a lease that is handed over. STRETCH is its
// counterpart: when one clock has shown STRETCH(span), every other has shown at least the span.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "machine/field_list.h"

namespace tempo::lock::lease {

// Most voters. Every other member may still ask for leases, hold them, queue and release.
inline constexpr std::uint32_t kMaxVoters = 8;

// A set of voters, one bit for each slot.
using Voters = std::uint8_t;

struct Rules {
  Nanos lease = 2s;              // L: length of a lease unless the client asks for another
  Nanos longest = 2s;            // Lmax: longest lease in use
  Ppb drift{200'000};            // rho: largest deviation of a clock's rate
  Nanos unit{1};                 // u: resolution of the clock
  std::uint64_t block = 65'536;  // counts reserved by one durable write
  std::uint32_t max_sub = (1U << 24) - 1;         // largest number of grants of one ballot
  std::uint64_t nonces = std::uint64_t{1} << 62;  // a blank member draws its nonce from this many
  bool suppress_replies = false;                  // only as many voters answer as are needed
  bool trust_time = false;                        // promises may end by network time (section 11)

  Nanos hold() const { return hold(lease); }  // HOLD(L)
  Nanos hold(Nanos length) const;             // HOLD(length)
  Nanos keep(Nanos length) const;             // KEEP(length)
  Nanos shrink(Nanos left) const;             // SHRINK(left)
  Nanos stretch(Nanos span) const;            // STRETCH(span), its counterpart

  // Intervals for a lease of this length that is wanted or held. R and F use at most L: a client
  // that wants a long lease retries as often as others, and a waiter for a short one expires within
  // it, so that no lease is handed over to a dead member.
  static Nanos least_left(Nanos length) { return length / 4; }  // G
  Nanos renew_gap(Nanos length) const;                          // G / 4
  Nanos register_delay(Nanos length) const;  // from a grant to its registration with the voters
  Nanos retry(Nanos length) const { return std::min(length, lease) / 4; }      // R
  Nanos fresh(Nanos length) const { return std::min(length, lease) * 5 / 8; }  // F
  Nanos retry() const { return retry(lease); }
};

constexpr std::array<NodeId, kMaxVoters> empty_slots() {
  std::array<NodeId, kMaxVoters> slots{};
  slots.fill(kNobody);
  return slots;
}

// The voting set. It never shrinks because a member is silent. Each voter has a slot, which it
// keeps from view to view; all members that know a view know the same slots.
struct View {
  std::uint32_t number = 1;
  std::array<NodeId, kMaxVoters> slots = empty_slots();
  std::array<std::uint8_t, kMaxVoters> votes{};  // of the voter in that slot; 0: the slot is free
  bool available = false;  // two voters, each of them a quorum: exclusion is not guaranteed

  bool operator==(const View&) const = default;
  std::optional<std::uint32_t> slot_of(NodeId member) const;
  bool votes_for(NodeId member) const { return slot_of(member).has_value(); }
  Voters bit_of(NodeId member) const;  // 0: the member has no vote
  bool quorum(Voters in_favour) const;
  Voters voters() const;

  static constexpr auto fields(auto list) {
    using M = View;
    return list(field<&M::number>("number"), field<&M::slots>("slots"), field<&M::votes>("votes"),
                field<&M::available>("available"));
  }
};

// Members 0 to voters - 1 with one vote each; at most kMaxVoters.
View one_vote_each(std::uint32_t voters);

// The view that follows `view` when this member has this number of votes. Unset: quorums of the two
// views might not intersect (only one vote may be added or removed at a time), or no slot is free.
std::optional<View> changed(const View& view, NodeId member, std::uint8_t votes);

// Policies for two voters. `witness` needs a third member that never asks; the first is preferred.
enum class TwoNode : std::uint8_t { strict, witness, preferred, available };
View two_members(TwoNode policy);

}  // namespace tempo::lock::lease
