#include "lab/studies/group/ring/ring_models.h"

namespace tempo::check {
namespace {

using election::anonymous::State;
namespace ring = election::ring;

bool needs_courier(const RingWorld& world) {
  return world.budget.losses > 0 || world.budget.duplicates > 0 || world.budget.crashes > 0;
}

}  // namespace

ring::LinkRules link_rules(const RingWorld& world) {
  ring::LinkRules rules{.stations = world.stations,
                        .probe = Nanos{4 * world.delay_max + 2},
                        .successors = world.budget.crashes + 1U};
  // One send more than can be lost: a station that does not answer then is down.
  if (needs_courier(world))
    rules.courier = {.interval = Nanos{2 * world.delay_max + 1}, .sends = world.budget.losses + 1U};
  return rules;
}

Freedom freedom_of(const RingWorld& world) {
  return {.nodes = world.stations,
          .network = needs_courier(world) ? Network::bag : Network::fifo,
          .delay_max = world.delay_max,
          .budget = world.budget};
}

election::anonymous::Rules anonymous_rules(const RingWorld& world, std::uint32_t stages,
                                           bool printed_next_timer) {
  election::anonymous::Rules rules{.link = link_rules(world),
                                   .stages = stages,
                                   .step_min = 1ns,
                                   .step_max = 1ns,
                                   .delay_max = Nanos{world.delay_max},
                                   .printed_next_timer = printed_next_timer};
  if (rules.link.courier)
    for (std::uint32_t i = 0; i + 1 < rules.link.courier->sends; ++i)
      rules.delay_max += rules.link.courier->interval * (1 << i);
  return rules;
}

EquitableModel::View EquitableModel::view(const Machine& machine) const {
  return {machine.state(), machine.number(), machine.leader()};
}

const char* EquitableModel::broken(const Scene<View>& scene) const {
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    for (std::uint32_t j = 0; j < i; ++j) {
      if (!scene.up(i) || !scene.up(j)) continue;
      const View& one = *scene.slots[i].view;
      const View& other = *scene.slots[j].view;
      if (one.number != other.number) continue;
      if (one.state == ring::State::leader && other.state == ring::State::leader)
        return "one-leader";
      if (one.leader != kNobody && other.leader != kNobody && one.leader != other.leader)
        return "same-leader";
    }
  return nullptr;
}

bool EquitableModel::remember(const Scene<View>& /*before*/, Scene<View>& after,
                              NodeId node) const {
  return !after.up(index(node)) || after.slots[index(node)].view->number <= elections;
}

bool EquitableModel::good(const Scene<View>& scene) const {
  NodeId leader = kNobody;
  for (std::uint32_t i = 0; i < scene.nodes; ++i) {
    if (!scene.up(i)) continue;
    const View& view = *scene.slots[i].view;
    if (view.leader == kNobody || (leader != kNobody && view.leader != leader)) return false;
    leader = view.leader;
  }
  return leader != kNobody && scene.up(index(leader));
}

AnonymousModel::View AnonymousModel::view(const Machine& machine) const {
  return {machine.state()};
}

// A candidate that leaves by itself has seen another candidate; there must have been one.
const char* AnonymousModel::broken_move(const Scene<View>& before, const Scene<View>& after,
                                        NodeId node) const {
  const std::uint32_t i = index(node);
  if (!before.up(i) || !after.up(i) || rules.printed_next_timer) return nullptr;
  if (before.slots[i].memory == 0 || after.slots[i].view->state != State::next_timer ||
      before.slots[i].view->state == State::next_timer)
    return nullptr;
  for (std::uint32_t j = 0; j < before.nodes; ++j)
    if (j != i && before.slots[j].memory != 0) return nullptr;
  return "sole-candidate-stays";
}

bool AnonymousModel::remember(const Scene<View>& before, Scene<View>& after, NodeId node) const {
  const std::uint32_t i = index(node);
  if (!after.up(i)) return true;
  const State now = after.slots[i].view->state;
  // The mark stays until the station begins another phase: its claims may outlive the candidacy.
  const bool was_one = before.up(i) && before.slots[i].memory != 0;
  const State then = before.up(i) ? before.slots[i].view->state : State::sleeping;
  if (now == State::awake_one)
    after.slots[i].memory = 1;
  else if (now == State::awake_other && then != State::awake_other)
    after.slots[i].memory = 0;
  else
    after.slots[i].memory = was_one ? 1 : 0;
  return true;
}

bool AnonymousModel::good(const Scene<View>& scene) const {
  bool elected = false;
  for (std::uint32_t i = 0; i < scene.nodes; ++i) {
    if (!scene.up(i)) continue;
    const State state = scene.slots[i].view->state;
    if (state != State::elected && state != State::defeated) return false;
    elected = elected || state == State::elected;
  }
  return elected;
}

template class Space<EquitableModel>;
template class Search<EquitableModel>;
template class Space<AnonymousModel>;
template class Search<AnonymousModel>;

}  // namespace tempo::check
