// Lease locks for the checker: a few sites, times in ticks, every order of events.
//
//   exclusion    no two clients whose clock test passes are inside in conflict; where that is not
//                promised (`available`), that no two of them have the same token
//   token-order  an exclusive grant's token is above all before it, a shared one's above those of
//                all exclusive ones before it, for each lock
//   one-view     all members see the same views
//   revival      nobody is told of an extension after its deadline
// and from every state nobody who lives need wait for ever. The client of a paused daemon goes on
// until its deadline.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "lab/studies/lock/lease_site.h"

namespace tempo::check {

struct LeaseWorld {
  std::uint32_t sites = 3;
  std::uint32_t voters = 0;                             // the first so many; 0: all
  std::vector<std::pair<NodeId, lock::Mode>> wishes{};  // each at any time
  std::vector<NodeId> second{};                         // likewise, of a second lock, exclusive
  // At any time a site wants that a member which has no vote gets one, or the other way round.
  std::vector<std::pair<NodeId, NodeId>> changes{};
  std::uint8_t lease = 5;  // ticks
  std::uint8_t delay_max = 1;
  std::uint8_t crashes = 0;  // with restarts, one for each site at most
  bool lost_disks = false;   // a crash may take the record along
  bool fresh_disks = false;  // nobody has a record
  bool slow_disks = false;   // a write takes a tick
  bool suppress_replies = false;
  std::optional<lock::lease::TwoNode> policy{};  // none: one vote for each voter
  Budget budget{};
  // Links keep the order of messages, and what has arrived is handled before a timer fires, which
  // all drivers promise (machine/machine.h). A paused daemon's mail waits in its socket all the
  // same.
  bool orderly = false;
  std::uint64_t ballots = 2;  // counts beyond are not looked at; a crash uses up more
  std::uint32_t subs = 6;     // nor more grants of one ballot
  bool comes_good = true;     // ask that everybody can be served
  bool exclusion = true;      // and that exclusion is kept, not only that tokens differ
};

struct LeaseView {
  LeaseSite::Guest guest{};  // as its own clock test sees it
  LeaseSite::Guest ghost{};
  bool waits = false;
  std::uint8_t crashes = 0;
  std::uint64_t top = 0;
  lock::lease::View voters{};
};

struct LeaseModel {
  using Machine = LeaseSite;
  using View = LeaseView;

  LeaseWorld world;
  LeaseSite::Rules rules;

  explicit LeaseModel(const LeaseWorld& asked);

  Machine make(NodeId node, Incarnation /*life*/) const { return {node, rules}; }
  View view(const Machine& site, Instant now) const;
  const char* broken(const Scene<View>& scene) const;
  const char* broken_move(const Scene<View>& before, const Scene<View>& after, NodeId node) const;
  bool good(const Scene<View>& scene) const;
  bool remember(const Scene<View>& before, Scene<View>& after, NodeId node) const;
};

Freedom freedom_of(const LeaseWorld& world);
std::vector<std::pair<NodeId, LeaseSite::Command>> commands_of(const LeaseWorld& world);

// Searches are made once, in lease_model.cpp.
extern template class Space<LeaseModel>;
extern template class Search<LeaseModel>;

// Calls `look(space)` with the space of all that can happen in this world.
template <class Look>
auto in_space(const LeaseWorld& world, Look look) {
  const LeaseModel model(world);
  Space<LeaseModel> space(model, freedom_of(world), commands_of(world));
  return look(space);
}

}  // namespace tempo::check
