// Bounded-delay locks for the checker: a few sites, times in ticks, every order of events.
//
// Properties:
//   exclusion    no two clients are inside in conflicting modes
// From every state all live sites can still come to rest with no client waiting (no deadlock).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "lab/studies/lock/site.h"

namespace tempo::check {

struct LockWorld {
  std::uint32_t sites = 3;
  std::uint32_t contending = 2;  // number of sites with a client, the lowest ids
  std::uint32_t readers = 0;     // how many of these, the lowest ids, ask for shared mode
  std::uint32_t entries = 1;     // requests of each client, each at any time
  bool by_replies = false;       // explicit replies instead of silence
  std::uint8_t delay_max = 1;    // ticks
  std::uint8_t hold = 1;         // longest hold, in ticks
  std::uint8_t sleep = 1;        // shortest sleep, and increment per refusal, in ticks
  // Time to handle a message, in ticks; messages are handled in parallel.
  std::uint8_t handling = 0;
  Budget budget{};
  lock::mutex::Variant variant = lock::mutex::Variant::corrected;
};

sim::lock::SiteRules rules_of(const LockWorld& world);
Freedom freedom_of(const LockWorld& world);
std::vector<std::pair<NodeId, sim::lock::SiteCommand>> commands_of(const LockWorld& world);

// The part of a site that the properties depend on.
struct LockView {
  bool rests = true;  // no client waits or holds
  bool inside = false;
  lock::Mode mode = lock::Mode::exclusive;
};
using LockScene = Scene<LockView>;

// Properties; true: satisfied.
bool exclusion(const LockScene& scene);
bool all_at_rest(const LockScene& scene);

struct LockModel {
  using Machine = sim::lock::Site;
  using View = LockView;

  sim::lock::SiteRules rules;

  Machine make(NodeId node, Incarnation incarnation) const {
    using lock::mutex::Birth;
    return Machine(node, incarnation, rules,
                   incarnation == Incarnation{1} ? Birth::first : Birth::again);
  }
  View view(const Machine& site) const;
  const char* broken(const LockScene& scene) const {
    return exclusion(scene) ? nullptr : "exclusion";
  }
  bool good(const LockScene& scene) const { return all_at_rest(scene); }
};

// The searches are instantiated once, in lock_model.cpp.
extern template class Space<LockModel>;
extern template class Search<LockModel>;

}  // namespace tempo::check
