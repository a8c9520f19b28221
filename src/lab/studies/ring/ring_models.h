// Both ring elections for the checker: a few stations, times in ticks, every order of events, every
// draw.
//
// Promised of the equitable ring: never two leaders in one election; nobody follows whom another
// does not; and from every state one leader that all who live follow can still be reached, whoever
// crashed. Of the anonymous ring, which may end with two leaders: that it can always still end, and
// that a station which alone drew 1 is never told that there is another candidate.
#pragma once

#include <cstdint>

#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "protocol/group/ring_anonymous.h"
#include "protocol/group/ring_equitable.h"

namespace tempo::check {

// How the world of a check is, as far as the stations must know.
struct RingWorld {
  std::uint32_t stations = 3;
  std::uint8_t delay_max = 1;  // ticks
  std::uint32_t wakers = 3;    // the first so many may wake up by themselves, at any time
  Budget budget{};
};

// Losses, duplicates and crashes need the courier; a network without them keeps its order.
election::ring::LinkRules link_rules(const RingWorld& world);
Freedom freedom_of(const RingWorld& world);
// A step is a tick. A message that must be repeated takes longer, and the stations know it.
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
  std::uint32_t elections = 3;  // numbers looked at; what comes later is taken to end well

  Machine make(NodeId node, Incarnation life) const { return {node, life, rules}; }
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

  Machine make(NodeId node, Incarnation life) const { return {node, life, rules}; }
  View view(const Machine& machine) const;
  const char* broken_move(const Scene<View>& before, const Scene<View>& after, NodeId node) const;
  // Remembers of each station that it drew 1 since it last slept or left a phase.
  bool remember(const Scene<View>& before, Scene<View>& after, NodeId node) const;
  bool good(const Scene<View>& scene) const;
};

// Searches are made once, in ring_models.cpp.
extern template class Space<EquitableModel>;
extern template class Search<EquitableModel>;
extern template class Space<AnonymousModel>;
extern template class Search<AnonymousModel>;

}  // namespace tempo::check
