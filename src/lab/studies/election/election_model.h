// TEMPO's election for the checker: the properties that one state or one step can violate.
#pragma once

#include <cstdint>
#include <span>

#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "protocol/election/master.h"
#include "protocol/election/master_rules.h"

namespace tempo::check {

// Times in ticks (the machine sees a tick as a nanosecond), as short as the relations between them
// allow, with one retransmission and one repeat: profile `tiny`.
election::Rules tiny_rules(const election::Variant& variant);

struct ElectionModel {
  using Machine = election::MasterElection;

  struct View {
    election::State state = election::State::startup;
    Epoch followed{};
    std::uint8_t list = 0;  // a bit for each listed node

    bool rules() const {
      return state == election::State::master || state == election::State::conflict;
    }
  };

  election::Rules rules;
  std::uint32_t candidacies = 3;  // largest number of candidacies of one node
  std::uint8_t losses_borne = 0;  // number of losses that do not excuse two masters
  bool parted = false;            // the network starts in two parts: two masters are no violation
  bool timed = true;              // delays are short enough for `conservative`

  Machine make(NodeId node, Incarnation life) const { return {{node, life}, rules}; }
  View view(const Machine& machine) const;

  // conservative
  const char* broken(const Scene<View>& scene) const;
  // obeys-newest
  const char* broken_step(const Machine& before, const Machine& after,
                          std::span<const election::Notice> notices) const;
  // sole-candidate-wins, always-led
  const char* broken_move(const Scene<View>& before, const Scene<View>& after, NodeId node) const;
  // Counts candidacies and marks those with a rival; false beyond the largest number of
  // candidacies.
  bool remember(const Scene<View>& before, Scene<View>& after, NodeId node) const;
  // One master, followed by all other nodes, which are exactly its list.
  bool good(const Scene<View>& scene) const;
};

// The searches are instantiated once, in election_model.cpp.
extern template class Space<ElectionModel>;
extern template class Search<ElectionModel>;

}  // namespace tempo::check
