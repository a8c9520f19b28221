#include "lab/studies/group/capacity_model.h"

namespace tempo::check {
namespace {

using election::capacity::Command;
using election::capacity::kNotCandidate;
using election::capacity::Rules;
using Stand = CapacityView::Stand;

constexpr const char* kUnique = "unique";
constexpr const char* kBestWins = "best-wins";
constexpr const char* kOneMaster = "one-master";
constexpr const char* kNoHelp = "no-help";

template <class Each>
bool each_honest(const CapacityScene& scene, Each holds) {
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    if (scene.up(i) && scene.slots[i].view->honest && !holds(*scene.slots[i].view)) return false;
  return true;
}

template <class Each>
bool each_two(const CapacityScene& scene, Each holds) {
  return each_honest(scene, [&](const CapacityView& one) {
    return each_honest(scene, [&](const CapacityView& other) {
      return &one == &other || one.number != other.number || holds(one, other);
    });
  });
}

bool decided(const CapacityView& view) { return view.stand == Stand::decided; }

}  // namespace

Rules rules_of(const CapacityWorld& world) {
  return {.members = world.nodes,
          .bound = Nanos{world.delay_max + 1},
          .malicious = world.malicious,
          .variant = world.variant};
}

Freedom freedom_of(const CapacityWorld& world) {
  const bool lossy = world.algorithm == CapacityAlgorithm::c;
  Freedom freedom{.nodes = world.nodes,
                  .network = lossy ? Network::bag : Network::ordered,
                  .delay_max = world.delay_max,
                  .budget = world.budget,
                  .echo = !lossy && world.self_delivery};
  freedom.starts[world.nodes - 1] = world.skew;
  return freedom;
}

std::vector<std::pair<NodeId, Command>> commands_of(const CapacityWorld& world) {
  std::vector<std::pair<NodeId, Command>> commands;
  for (std::uint32_t i = 0; i < world.candidates; ++i)
    if (!holds_at_once(world, NodeId{i})) commands.emplace_back(NodeId{i}, Command::hold());
  return commands;
}

// Capacities are equal in pairs; of two equal candidates the larger number wins.
Command offer_of(const CapacityWorld& world, NodeId node) {
  const std::uint32_t from_the_best = world.candidates - 1 - index(node);
  return Command::offer(index(node) < world.candidates ? world.candidates - from_the_best / 2
                                                       : kNotCandidate);
}

bool holds_at_once(const CapacityWorld& world, NodeId node) {
  return world.algorithm == CapacityAlgorithm::a ||
         (world.together && index(node) < world.candidates);
}

// A crash of the elected process leads to another election.
std::uint32_t elections_of(const CapacityWorld& world) { return 1U + world.budget.crashes; }

bool unique(const CapacityScene& scene) {
  return each_two(scene, [](const CapacityView& one, const CapacityView& other) {
    return !decided(one) || !decided(other) || one.master == other.master;
  });
}

bool best_wins(const CapacityScene& scene, NodeId best) {
  return each_honest(
      scene, [&](const CapacityView& view) { return !decided(view) || view.master == best; });
}

bool one_master(const CapacityScene& scene) {
  return each_two(scene, [](const CapacityView& one, const CapacityView& other) {
    return !one.reigns || !other.reigns;
  });
}

bool no_help(const CapacityScene& scene) {
  return each_honest(scene, [](const CapacityView& view) { return view.stand != Stand::help; });
}

bool all_at_rest(const CapacityWorld& world, const CapacityScene& scene) {
  bool any_decided = false;
  bool any_idle = false;
  bool should_go_on = false;  // an election was called or failed, and a candidate is left
  for (std::uint32_t i = 0; i < scene.nodes; ++i) {
    if (!scene.up(i) || !scene.slots[i].view->honest) continue;
    const CapacityView& view = *scene.slots[i].view;
    if (view.stand == Stand::busy) return false;
    any_decided |= decided(view);
    any_idle |= view.stand == Stand::idle;
    should_go_on |= view.stand == Stand::idle && i < world.candidates &&
                    (view.number > 1 || holds_at_once(world, NodeId{i}));
  }
  if (scene.spent.losses != 0) return true;
  return !(any_decided && any_idle) && !should_go_on;
}

bool one_election(const CapacityWorld& world, const CapacityScene& scene) {
  if (!holds_at_once(world, NodeId{0}) || scene.spent.crashes != 0) return true;
  return each_honest(scene, [](const CapacityView& view) { return view.number <= 1; });
}

const char* violated_property(const CapacityWorld& world, const CapacityScene& scene) {
  const NodeId best{world.candidates - 1};
  if (!one_master(scene)) return kOneMaster;
  if (scene.spent.losses != 0) return nullptr;
  if (!unique(scene)) return kUnique;
  if (!no_help(scene)) return kNoHelp;
  const bool undisturbed = world.malicious == 0 && world.skew == 0 && world.self_delivery &&
                           scene.spent.crashes == 0 && scene.spent.pauses == 0;
  if (undisturbed && !best_wins(scene, best)) return kBestWins;
  return nullptr;
}

template <>
B2Member CapacityModel<B2Member>::make(NodeId node, Incarnation /*incarnation*/) const {
  if (index(node) + rules.malicious < rules.members)
    return B2Member(election::CapacityB2(node, rules));
  // Honest processes begin within T and report 2T later; messages sent after that have no effect.
  const auto patience = static_cast<std::uint8_t>(3 * rules.bound.count());
  return B2Member(
      B2Byzantine(patience, static_cast<std::uint8_t>(world.candidates + rules.malicious)));
}

template class Space<CapacityModel<election::CapacityA>>;
template class Search<CapacityModel<election::CapacityA>>;
template class Space<CapacityModel<election::CapacityB1>>;
template class Search<CapacityModel<election::CapacityB1>>;
template class Space<CapacityModel<B2Member>>;
template class Search<CapacityModel<B2Member>>;
template class Space<CapacityModel<election::CapacityC>>;
template class Search<CapacityModel<election::CapacityC>>;

}  // namespace tempo::check
