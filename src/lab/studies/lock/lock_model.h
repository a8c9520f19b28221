// The locks of known time for the checker: a few sites, times in ticks, every order of events.
//
// Promised:
//   exclusion    no two clients are inside in modes that conflict
// and from every state all who live can still come to rest, nobody waiting: there is no deadlock.
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
  std::uint32_t contending = 2;  // the first so many have a client
  std::uint32_t readers = 0;     // of which the first so many want it shared
  std::uint32_t entries = 1;     // each client asks so often, at any time
  bool by_replies = false;       // explicit replies instead of silence
  std::uint8_t delay_max = 1;    // ticks
  std::uint8_t hold = 1;         // ticks at most
  std::uint8_t sleep = 1;        // ticks: the shortest, and what each refusal adds
  std::uint8_t handling = 0;     // ticks that each message takes, several side by side
  Budget budget{};
  lock::mutex::Variant variant = lock::mutex::Variant::corrected;
};

sim::lock::SiteRules rules_of(const LockWorld& world);
Freedom freedom_of(const LockWorld& world);
std::vector<std::pair<NodeId, sim::lock::SiteCommand>> commands_of(const LockWorld& world);

// A site as the promises see it.
struct LockView {
  bool rests = true;  // nobody wants anything
  bool inside = false;
  lock::Mode mode = lock::Mode::exclusive;
};
using LockScene = Scene<LockView>;

// True: it is kept.
bool exclusion(const LockScene& scene);
bool all_at_rest(const LockScene& scene);

struct LockModel {
  using Machine = sim::lock::Site;
  using View = LockView;

  sim::lock::SiteRules rules;

  Machine make(NodeId node, Incarnation life) const {
    using lock::mutex::Birth;
    return Machine(node, life, rules, life == Incarnation{1} ? Birth::first : Birth::again);
  }
  View view(const Machine& site) const;
  const char* broken(const LockScene& scene) const {
    return exclusion(scene) ? nullptr : "exclusion";
  }
  bool good(const LockScene& scene) const { return all_at_rest(scene); }
};

// Searches are made once, in lock_model.cpp.
extern template class Space<LockModel>;
extern template class Search<LockModel>;

}  // namespace tempo::check
