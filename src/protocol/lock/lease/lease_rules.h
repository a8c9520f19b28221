// The numbers of a lease lock (section 2), and who votes (section 9).
//
// A lease of length L is held for HOLD(L) by the holder's clock and kept for KEEP(L) by its
// grantors': the first ends before the second as long as both clocks run within `drift` of true
// time. SHRINK does the same for what is left of a lease when it is handed over. STRETCH is its
// counterpart: when one clock has shown so much, every other has shown at least the span.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/units.h"

namespace tempo::lock::lease {

// So many vote. Any other member may ask, hold, queue and release all the same.
inline constexpr std::uint32_t kMaxVoters = 8;

// Voters as bits, by their chairs.
using Voters = std::uint8_t;

struct Rules {
  Nanos lease = 2s;                               // L, of who does not ask for another
  Nanos longest = 2s;                             // Lmax: no lease in use is longer
  Ppb drift{200'000};                             // rho
  Nanos unit{1};                                  // u, of the clock
  std::uint64_t block = 65'536;                   // counts reserved by one durable write
  std::uint32_t most_sub = (1U << 24) - 1;        // grants of one ballot
  std::uint64_t nonces = std::uint64_t{1} << 32;  // a blank member calls itself by one of so many
  bool suppress_replies = false;                  // only as many answer as are needed
  bool trust_time = false;                        // promises may end by network time (section 11)

  Nanos hold() const { return hold(lease); }  // HOLD(L)
  Nanos hold(Nanos length) const;             // HOLD(length)
  Nanos keep(Nanos length) const;             // KEEP(length)
  Nanos shrink(Nanos left) const;             // SHRINK(left)
  Nanos stretch(Nanos span) const;            // STRETCH(span), its counterpart

  // Where a lease of that length is wanted or held. Nobody is slower for wanting a long one; and
  // who wants a short one is forgotten while it lasts, so that none is handed over to the dead.
  static Nanos least_left(Nanos length) { return length / 4; }                 // G
  Nanos renew_gap(Nanos length) const;                                         // G / 4
  Nanos retry(Nanos length) const { return std::min(length, lease) / 4; }      // R
  Nanos fresh(Nanos length) const { return std::min(length, lease) * 5 / 8; }  // F
  Nanos retry() const { return retry(lease); }
};

constexpr std::array<NodeId, kMaxVoters> empty_chairs() {
  std::array<NodeId, kMaxVoters> chairs{};
  chairs.fill(kNobody);
  return chairs;
}

// The voting set. It never shrinks because somebody is silent. Each voter has a chair, which it
// keeps from view to view; all who know a view know the same chairs.
struct View {
  std::uint32_t number = 1;
  std::array<NodeId, kMaxVoters> chairs = empty_chairs();
  std::array<std::uint8_t, kMaxVoters> votes{};  // of who has that chair; 0: nobody
  bool available = false;  // two members, each of them enough: exclusion is not promised

  bool operator==(const View&) const = default;
  std::optional<std::uint32_t> chair_of(NodeId member) const;
  bool votes_for(NodeId member) const { return chair_of(member).has_value(); }
  Voters bit_of(NodeId member) const;  // none for who has no vote
  bool quorum(Voters in_favour) const;
  Voters voters() const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("number", self.number);
    visit("chairs", self.chairs);
    visit("votes", self.votes);
    visit("available", self.available);
  }
};

// The first so many with one vote each.
View one_vote_each(std::uint32_t voters);

// The view that follows `view` when this member has so many votes; nothing if majorities of the two
// might not meet, for only one vote may come or go at a time; or if there is no chair left.
std::optional<View> changed(const View& view, NodeId member, std::uint8_t votes);

// The policies of two members. `witness` needs a third that never asks; the first is preferred.
enum class TwoNode : std::uint8_t { strict, witness, preferred, available };
View two_members(TwoNode policy);

}  // namespace tempo::lock::lease
