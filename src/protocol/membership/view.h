// A view: what the members of a network agree on, and who may decide for them.
//
// A quorum of a view is more than half of its members, or exactly half with the tie-breaker. Any
// two quorums of one view have a common member. A view is followed by the next one of its lineage
// when a quorum of it has accepted that one (membership.h).
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "base/inline_vector.h"
#include "base/units.h"
#include "machine/field_list.h"

namespace tempo::membership {

// A member is a record on a disk: the number is drawn at random when the record is made. A machine
// that lost its record is another member.
enum class MemberId : std::uint64_t {};
inline constexpr MemberId kNoMember{0};

inline constexpr std::size_t kMaxMembers = 24;        // other machines of the network are guests
using Members = InlineVector<MemberId, kMaxMembers>;  // in ascending order, without duplicates

struct View {
  std::uint64_t lineage = 0;               // drawn at random at the founding; 0: no view
  std::uint64_t number = 0;                // of this view in its lineage, from 1
  Members members{};                       // empty: the lineage is dissolved
  MemberId tie_breaker = kNoMember;        // decides between two halves
  std::uint32_t timescale_generation = 0;  // number of steps of network time since the founding

  bool known() const { return lineage != 0; }
  bool has(MemberId member) const { return std::ranges::find(members, member) != members.end(); }
  bool operator==(const View&) const = default;

  static constexpr auto fields(auto list) {
    using M = View;
    return list(field<&M::lineage>("lineage"), field<&M::number>("number"),
                field<&M::members>("members"), field<&M::tie_breaker>("tie_breaker"),
                field<&M::timescale_generation>("timescale_generation"));
  }
};

void insert(Members& members, MemberId member);  // not full, and without this member

// Whether this number of members is a quorum; `with_tie_breaker`: the tie-breaker is one of them.
bool suffices(const View& view, std::size_t count, bool with_tie_breaker);

// Whether the members for which `counts(member)` is true are a quorum.
template <class Counts>
bool quorum(const View& view, Counts counts) {
  const auto count = static_cast<std::size_t>(std::ranges::count_if(view.members, counts));
  return suffices(view, count, counts(view.tie_breaker));
}

// The latest time t so that the members with `at(member)` >= t are a quorum.
template <class At>
BootTime quorum_time(const View& view, At at) {
  std::array<BootTime, kMaxMembers> times{};
  for (std::size_t i = 0; i < view.members.size(); ++i) times[i] = at(view.members[i]);
  const auto of = [&](MemberId member) {
    return times[static_cast<std::size_t>(std::ranges::find(view.members, member) -
                                          view.members.begin())];
  };
  BootTime best = BootTime::min();
  for (std::size_t i = 0; i < view.members.size(); ++i)
    if (times[i] > best && quorum(view, [&](MemberId member) { return of(member) >= times[i]; }))
      best = times[i];
  return best;
}

// A master's right to ask the members for a decision. Round 0: none.
struct Ballot {
  std::uint64_t round = 0;
  MemberId master = kNoMember;

  auto operator<=>(const Ballot&) const = default;

  static constexpr auto fields(auto list) {
    return list(field<&Ballot::round>("round"), field<&Ballot::master>("master"));
  }
};

// A member's record on disk. The member id is never 0 in a record.
struct Record {
  MemberId self = kNoMember;
  View view{};           // the newest one that this member has installed; not known(): none
  Ballot promised{};     // the member accepts nothing under a lower ballot
  Ballot accepted_in{};  // round 0: nothing accepted
  View accepted{};       // accepted as the next view, not yet known to be agreed

  bool operator==(const Record&) const = default;

  static constexpr auto fields(auto list) {
    using M = Record;
    return list(field<&M::self>("self"), field<&M::view>("view"), field<&M::promised>("promised"),
                field<&M::accepted_in>("accepted_in"), field<&M::accepted>("accepted"));
  }
};

}  // namespace tempo::membership
