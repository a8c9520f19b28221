// Atomic broadcast for the checker: a few processes, one of them faulty in every way there is,
// clocks apart by every allowed amount, every delay.
//
// Promised to correct processes:
//   validity      what a correct process says is delivered by all when their clocks show
//                 stamp + Delta
//   agreement     what one delivers all deliver, when their clocks show the same
//   order         two words that two processes deliver come in one order to both
//   in-time       a word of a correct process is delivered when clocks show stamp + Delta
//   no-invention  each word once, and only what was said
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "lab/studies/broadcast/speaker.h"

namespace tempo::check {

struct BroadcastWorld {
  std::uint32_t nodes = 3;
  std::uint32_t faulty = 1;      // pi, as the processes count
  bool first_is_faulty = false;  // the first is, in every way of its class
  broadcast::Faults faults = broadcast::Faults::omission;
  std::uint8_t delay_max = 1;  // ticks
  std::uint8_t precision = 1;  // ticks
  std::uint32_t speakers = 2;  // the first so many say one word
  std::uint8_t window = 1;     // in one of the first ticks, up to this
  Budget budget{};
  // What must not be done (broadcast/bounds.h).
  std::uint8_t short_by = 0;  // ticks
  bool relays = true;
  bool tests_hop = true;
};

broadcast::Rules rules_of(const BroadcastWorld& world);
// What must arrive in a tick arrives before timers fire in it: so Delta can be exact.
Freedom freedom_of(const BroadcastWorld& world);

struct BroadcastView {
  bool correct = false;
  bool cut_short = false;
  Nanos clock{0};
  std::vector<Saying> log;
  std::optional<Saying> said;
};

// The promises, each by itself. True: it is kept.
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

// Searches are made once, in broadcast_model.cpp.
extern template class Space<BroadcastModel>;
extern template class Search<BroadcastModel>;

}  // namespace tempo::check
