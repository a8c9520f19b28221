// Lease locks for the checker: a few sites, times in ticks, every order of events.
//
//   exclusion    no two clients whose clock test passes are inside in conflicting modes; where this
//                is not guaranteed (`available`), no two of them have the same token
//   token-order  for each lock, the token of an exclusive grant is higher than all tokens before
//                it, that of a shared grant higher than those of all exclusive grants before it
//   one-view     all members see the same views
//   revival      no client receives an extension after its deadline
// From every state every live site can still be served. The client of a paused daemon continues
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
  std::uint32_t voters = 0;  // number of voters, the lowest ids; 0: all sites
  std::vector<std::pair<NodeId, lock::Mode>> wishes{};  // requests, each at any time
  std::vector<NodeId> second{};  // exclusive requests for a second lock, each at any time
  // (site, member): at any time the site asks to give the member a vote, or to take it away.
  std::vector<std::pair<NodeId, NodeId>> changes{};
  std::uint8_t lease = 5;  // ticks
  std::uint8_t delay_max = 1;
  std::uint8_t crashes = 0;  // crashes with restart, at most one per site
  bool lost_disks = false;   // a crash may destroy the record
  bool fresh_disks = false;  // no site starts with a record
  bool slow_disks = false;   // a write takes a tick
  bool suppress_replies = false;
  bool resumes = false;                          // clients come back to their restarted daemons
  std::optional<lock::lease::TwoNode> policy{};  // none: one vote for each voter
  NodeId cloned = kNobody;  // the last site is a clone of this one; kNobody: there is none
  bool copy_shows = true;   // the clone knows that its record is a copy
  std::uint32_t side = 0;   // set of the sites on one side of a partition; 0: there is none
  Budget budget{};
  // Links preserve the order of messages, and a site handles messages that have arrived before a
  // timer fires; all drivers guarantee this (machine/machine.h). The messages for a paused daemon
  // still wait in its socket.
  bool orderly = false;
  // States with higher counts are not explored; a crash raises the limit.
  std::uint64_t ballots = 2;
  std::uint32_t subs = 6;  // states with more grants per ballot are not explored
  bool comes_good = true;  // check that every request can be served
  bool exclusion = true;   // check exclusion, not only that tokens differ
};

struct LeaseView {
  LeaseSite::Guest guest{};  // the client, if its own clock test passes
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

  Machine make(NodeId node, Incarnation /*incarnation*/) const { return {node, rules}; }
  View view(const Machine& site, BootTime now) const;
  const char* broken(const Scene<View>& scene) const;
  const char* broken_move(const Scene<View>& before, const Scene<View>& after, NodeId node) const;
  bool good(const Scene<View>& scene) const;
  bool remember(const Scene<View>& before, Scene<View>& after, NodeId node) const;
};

Freedom freedom_of(const LeaseWorld& world);
std::vector<std::pair<NodeId, LeaseSite::Command>> commands_of(const LeaseWorld& world);

// The searches are instantiated once, in lease_model.cpp.
extern template class Space<LeaseModel>;
extern template class Search<LeaseModel>;

// Calls `look(space)` with the state space of this world.
template <class Look>
auto in_space(const LeaseWorld& world, Look look) {
  const LeaseModel model(world);
  Space<LeaseModel> space(model, freedom_of(world), commands_of(world));
  return look(space);
}

}  // namespace tempo::check
