#include "lab/studies/election/election_model.h"

namespace tempo::check {
namespace {

using election::State;
using View = ElectionModel::View;

// Bits of a node's memory.
constexpr Memory kCandidacies = 0x3;  // number of candidacies so far
constexpr Memory kRival = 0x4;  // the current candidacy has a rival, or a fault occurred in it
constexpr Memory kStaleElection = 0x8;  // a candidate died: its Election may still be in transit

bool is_candidate(const Scene<View>::Slot& slot) {
  return slot.view != nullptr && slot.view->state == State::candidate;
}

// True if no other node is or was a candidate, is master or may become master without an election.
bool alone(const Scene<View>& scene, NodeId node) {
  for (std::uint32_t i = 0; i < scene.nodes; ++i) {
    if (i == index(node) || !scene.up(i)) continue;
    if (scene.slots[i].view->state != State::slave || scene.slots[i].paused ||
        (scene.slots[i].memory & kCandidacies) != 0)
      return false;
  }
  return (scene.slots[index(node)].memory & kStaleElection) == 0;
}

std::uint32_t masters_of(const Scene<View>& scene) {
  std::uint32_t masters = 0;
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    if (scene.up(i) && scene.slots[i].view->rules()) ++masters;
  return masters;
}

bool threatens(State state) { return state != State::slave && state != State::accept; }

}  // namespace

election::Rules tiny_rules(const election::Variant& variant) {
  return {.timing = {.adjtime = 8ns,
                     .loop = 4ns,
                     .election_min = 21ns,
                     .election_max = 22ns,
                     .startup = 7ns,
                     .no_master = 7ns,
                     .candidate = 6ns,
                     .accept = 20ns,
                     .consistency = 3ns,
                     .conflict = 5ns,
                     .retransmit = 5ns,
                     .sends = 2,
                     .delay = 2ns,
                     .loops_per_election = 5,
                     .loops_per_startup = 3},
          .repeats = 1,
          .variant = variant};
}

View ElectionModel::view(const Machine& machine) const {
  View view{.state = machine.state(), .followed = machine.followed()};
  machine.list().for_each([&](NodeId node) {
    if (index(node) < kMaxNodes) view.list |= static_cast<std::uint8_t>(1U << index(node));
  });
  return view;
}

const char* ElectionModel::broken(const Scene<View>& scene) const {
  const Budget& spent = scene.spent;
  if (!timed || parted || spent.losses > losses_borne || spent.pauses != 0 || spent.drifts != 0)
    return nullptr;
  return masters_of(scene) > 1 ? "conservative" : nullptr;
}

const char* ElectionModel::broken_step(const Machine& before, const Machine& after,
                                       std::span<const election::Notice> notices) const {
  if (rules.variant.no_epoch) return nullptr;
  if (after.followed() < before.followed()) return "obeys-newest";
  for (const election::Notice& notice : notices)
    if ((notice.news == election::Change::adjusted || notice.news == election::Change::set) &&
        notice.epoch < before.followed())
      return "obeys-newest";
  return nullptr;
}

const char* ElectionModel::broken_move(const Scene<View>& before, const Scene<View>& after,
                                       NodeId node) const {
  if (after.spent.crashes == 0 && after.spent.pauses == 0 && masters_of(before) > 0 &&
      masters_of(after) == 0)
    return "always-led";
  const Scene<View>::Slot& was = before.slots[index(node)];
  if (!is_candidate(was) || !after.up(index(node)) || is_candidate(after.slots[index(node)]))
    return nullptr;
  if (after.spent.losses != 0 || after.spent.pauses != 0 || after.spent.drifts != 0) return nullptr;
  if (parted) return nullptr;
  const bool sole = (was.memory & kRival) == 0;
  return sole && !after.slots[index(node)].view->rules() ? "sole-candidate-wins" : nullptr;
}

bool ElectionModel::remember(const Scene<View>& before, Scene<View>& after, NodeId node) const {
  const Scene<View>::Slot& was = before.slots[index(node)];
  Scene<View>::Slot& is = after.slots[index(node)];
  const bool stood = is_candidate(was);
  const bool stands = is_candidate(is);
  if (stood && !stands) is.memory &= static_cast<Memory>(~kRival);

  const bool disturbed = before.spent != after.spent || was.paused != is.paused ||
                         (was.view == nullptr) != (is.view == nullptr);
  const bool died = stood && is.view == nullptr;
  const bool new_threat = is.view != nullptr && threatens(is.view->state) &&
                          (was.view == nullptr || was.view->state != is.view->state);
  for (std::uint32_t i = 0; i < after.nodes; ++i) {
    if (i == index(node) || !after.up(i)) continue;
    if ((disturbed || new_threat) && is_candidate(after.slots[i])) after.slots[i].memory |= kRival;
    if (died) after.slots[i].memory |= kStaleElection;
  }
  if (!stands || stood) return true;
  if (!alone(after, node)) is.memory |= kRival;
  if ((is.memory & kCandidacies) == candidacies) return false;
  ++is.memory;
  return true;
}

bool ElectionModel::good(const Scene<View>& scene) const {
  const View* master = nullptr;
  std::uint8_t followers = 0;
  for (std::uint32_t i = 0; i < scene.nodes; ++i) {
    if (!scene.up(i)) continue;
    const View& view = *scene.slots[i].view;
    if (scene.slots[i].paused) return false;
    if (view.state == State::master) {
      if (master != nullptr) return false;
      master = &view;
    } else if (view.state == State::slave) {
      followers |= static_cast<std::uint8_t>(1U << i);
    } else {
      return false;
    }
  }
  if (master == nullptr || master->list != followers) return false;
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    if ((followers >> i & 1) != 0 && scene.slots[i].view->followed != master->followed)
      return false;
  return true;
}

template class Space<ElectionModel>;
template class Search<ElectionModel>;

}  // namespace tempo::check
