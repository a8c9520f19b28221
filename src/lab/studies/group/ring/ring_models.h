// Both ring elections for the checker: a few stations, times in ticks, every order of events, every
// draw.
//
// Properties of the equitable ring: never two leaders in one election; no two stations follow
// different leaders; and from every state a state with one leader that all live stations follow
// remains reachable, whichever stations crash. Properties of the anonymous ring, which may end with
// two leaders: it can always still end, and a sole candidate never concludes that there is another.
#pragma once

#include <cstdint>

#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "protocol/group/ring_anonymous.h"
#include "protocol/group/ring_equitable.h"

namespace tempo::check {

// The parameters of a check that the stations must know.
struct RingWorld {
  std::uint32_t stations = 3;
  std::uint8_t delay_max = 1;  // ticks
  // Number of stations, the lowest ids, that may wake up by themselves at any time.
  std::uint32_t wakers = 3;
  Budget budget{};
};

// Losses, duplicates and crashes require the courier; a network without them keeps the order.
election::ring::LinkRules link_rules(const RingWorld& world);
Freedom freedom_of(const RingWorld& world);
// A step is one tick. A message that is repeated takes longer, and the stations know the bound.
election::anonymous::Rules anonymous_rules(const RingWorld& world, std::uint32_t stages,
                                           bool printed_next_timer);

struct EquitableModel {
  using Machine = election::RingElection;

  struct View {
    election::ring::State state = election::ring::State::idle;
    std::uint32_t number = 0;
    NodeId leader = kNobody;
  };

  election::ring::EquitableRules rules;
  std::uint32_t elections = 3;  // elections explored; later ones are assumed to end well

  Machine make(NodeId node, Incarnation incarnation) const { return {node, incarnation, rules}; }
  View view(const Machine& machine) const;
  const char* broken(const Scene<View>& scene) const;  // one-leader, same-leader
  bool remember(const Scene<View>& before, Scene<View>& after, NodeId node) const;
  bool good(const Scene<View>& scene) const;
};

struct AnonymousModel {
  using Machine = election::AnonymousRingElection;

  struct View {
    election::anonymous::State state = election::anonymous::State::sleeping;
  };

  election::anonymous::Rules rules;

  Machine make(NodeId node, Incarnation incarnation) const { return {node, incarnation, rules}; }
  View view(const Machine& machine) const;
  const char* broken_move(const Scene<View>& before, const Scene<View>& after, NodeId node) const;
  // Records for each station whether it drew 1 since it last slept or left a phase.
  bool remember(const Scene<View>& before, Scene<View>& after, NodeId node) const;
  bool good(const Scene<View>& scene) const;
};

// The searches are instantiated once, in ring_models.cpp.
extern template class Space<EquitableModel>;
extern template class Search<EquitableModel>;
extern template class Space<AnonymousModel>;
extern template class Search<AnonymousModel>;

}  // namespace tempo::check
