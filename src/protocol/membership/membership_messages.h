// Messages, commands and notices of Membership (membership.h).
#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "base/units.h"
#include "machine/field_list.h"
#include "protocol/membership/view.h"

namespace tempo::membership {

// How a machine takes part in its network.
enum class Participation : std::uint8_t {
  member,   // it joins the view
  guest,    // it follows the main part and has no vote
  leaving,  // it is about to stop for good
  last,
};

// The sender was never in the main part since its start.
inline constexpr Nanos kNeverMain = Nanos::max();

// A member asks its master, which answers with a beacon. It also carries the member's grant.
struct Ask {
  Sequence number{};  // of this question
  MemberId self = kNoMember;
  Participation participation = Participation::member;
  Ballot ballot{};     // of the beacon that it grants; round 0: it grants none
  Sequence granted{};  // number of that beacon
  Ballot promised{};   // see Record, as the three below
  View view{};
  Ballot accepted_in{};
  View accepted{};
  Nanos since_main = kNeverMain;  // since the main part ended for the sender; negative: it lasts

  static constexpr auto fields(auto list) {
    using M = Ask;
    return list(field<&M::number>("number"), field<&M::self>("self"),
                field<&M::participation>("participation"), field<&M::ballot>("ballot"),
                field<&M::granted>("granted"), field<&M::promised>("promised"),
                field<&M::view>("view"), field<&M::accepted_in>("accepted_in"),
                field<&M::accepted>("accepted"), field<&M::since_main>("since_main"));
  }
};

// A master's answer to one member.
struct Beacon {
  Sequence number{};    // of this beacon
  Sequence asked{};     // number of the question
  Ballot ballot{};      // round 0: the sender only passes on the main part of its own master
  Nanos main_for{0};    // the sender is in the main part this long after the question arrived
  bool urgent = false;  // the sender needs a quorum: please ask again soon
  View view{};          // agreed
  bool proposes = false;
  View proposal{};  // the next view, to be accepted; valid if `proposes`

  static constexpr auto fields(auto list) {
    using M = Beacon;
    return list(field<&M::number>("number"), field<&M::asked>("asked"), field<&M::ballot>("ballot"),
                field<&M::main_for>("main_for"), field<&M::urgent>("urgent"),
                field<&M::view>("view"), field<&M::proposes>("proposes"),
                field<&M::proposal>("proposal"));
  }
};

// A master gives its grants back.
struct Release {
  Ballot ballot{};  // its last one

  static constexpr auto fields(auto list) { return list(field<&Release::ballot>("ballot")); }
};

using Message = std::variant<Ask, Beacon, Release>;

// --- commands ---

struct Lead {};  // this node is the master
struct Follow {
  NodeId master = kNobody;  // kNobody: there is none
};
struct Stop {};   // this process ends
struct Leave {};  // this machine leaves the view, until the process ends
// An operator founds a lineage on this machine: the quorum of its view is lost.
struct NewLineage {};
// Network time is to be stepped: the next view has the next generation.
struct BeginGeneration {};
struct Persisted {
  Record record{};
};

using Command = std::variant<Lead, Follow, Stop, Leave, NewLineage, BeginGeneration, Persisted>;

// --- notices ---

struct Notice {
  enum class Kind : std::uint8_t {
    main,        // this master is main
    not_main,    // it no longer is
    installed,   // this member has installed a view
    dissolved,   // its lineage has ended, or it was dropped: this machine is a newcomer
    generation,  // the generation that BeginGeneration asked for may begin now
    outdated,    // a member was in the main part long after this master: it should lead instead
  };
  Kind kind = Kind::main;
};

}  // namespace tempo::membership
