// Atomic broadcast for the checker: a few processes, one of them faulty in every possible way, all
// allowed clock offsets, all delays.
//
// Properties of correct processes:
//   validity      all deliver a message of a correct process when their clocks show stamp + Delta
//   agreement     all deliver what one delivers, at the same clock reading
//   order         two processes deliver two messages in the same order
//   in-time       a message of a correct process is delivered when clocks show stamp + Delta
//   no-invention  each message is delivered once, and only if it was sent
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "lab/studies/group/broadcast/speaker.h"

namespace tempo::check {

struct BroadcastWorld {
  std::uint32_t nodes = 3;
  std::uint32_t faulty = 1;      // pi, as the processes assume
  bool first_is_faulty = false;  // the first process is faulty, in every way of its class
  broadcast::Faults faults = broadcast::Faults::omission;
  std::uint8_t delay_max = 1;  // ticks
  std::uint8_t precision = 1;  // ticks
  std::uint32_t speakers = 2;  // number of processes, the lowest ids, that send one message
  std::uint8_t window = 1;     // last tick in which they may send
  Budget budget{};
  // Deliberate errors (broadcast/bounds.h).
  std::uint8_t short_by = 0;  // ticks
  bool relays = true;
  bool tests_hop = true;
};

broadcast::Rules rules_of(const BroadcastWorld& world);
// Messages due in a tick arrive before timers fire in it, so that Delta can be exact.
Freedom freedom_of(const BroadcastWorld& world);

struct BroadcastView {
  bool correct = false;
  bool cut_short = false;
  Nanos clock{0};
  std::vector<Saying> log;
  std::optional<Saying> said;
};

// The properties; true: satisfied.
using BroadcastScene = Scene<BroadcastView>;
bool valid(const BroadcastScene& scene);
bool agreed(const BroadcastScene& scene);
bool in_order(const BroadcastScene& scene);
bool in_time(const BroadcastScene& scene);
bool invents_nothing(const BroadcastScene& scene);

struct BroadcastModel {
  using Machine = Speaker;
  using View = BroadcastView;

  BroadcastWorld world;
  broadcast::Rules rules;

  Machine make(NodeId node, Incarnation life) const;
  View view(const Machine& machine, Instant now) const;
  const char* broken(const BroadcastScene& scene) const;
};

// The searches are instantiated once, in broadcast_model.cpp.
extern template class Space<BroadcastModel>;
extern template class Search<BroadcastModel>;

}  // namespace tempo::check
