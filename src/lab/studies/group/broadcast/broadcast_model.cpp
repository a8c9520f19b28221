#include "lab/studies/group/broadcast/broadcast_model.h"

#include <algorithm>

namespace tempo::check {
namespace {

// True if `holds(one, other)` for all pairs of correct processes, including (one, one).
template <class Holds>
bool each_two(const BroadcastScene& scene, Holds holds) {
  const auto correct = [&](std::uint32_t i) { return scene.up(i) && scene.slots[i].view->correct; };
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    for (std::uint32_t j = 0; j < scene.nodes; ++j)
      if (correct(i) && correct(j) && !holds(*scene.slots[i].view, *scene.slots[j].view))
        return false;
  return true;
}

std::size_t place_of(const BroadcastView& view, const Saying& saying) {
  const auto found =
      std::ranges::find_if(view.log, [&](const Saying& other) { return other.same(saying); });
  return static_cast<std::size_t>(found - view.log.begin());
}
bool delivered(const BroadcastView& view, const Saying& saying) {
  return place_of(view, saying) < view.log.size();
}

}  // namespace

broadcast::Rules rules_of(const BroadcastWorld& world) {
  return {.members = world.nodes,
          .delay = Nanos{world.delay_max},
          .precision = Nanos{world.precision},
          .faulty = world.faulty,
          .faults = world.faults,
          .short_by = Nanos{world.short_by},
          .relays = world.relays,
          .tests_hop = world.tests_hop};
}

Freedom freedom_of(const BroadcastWorld& world) {
  return {.nodes = world.nodes,
          .delay_max = world.delay_max,
          .budget = world.budget,
          .mail_first = true};
}

bool valid(const BroadcastScene& scene) {
  return each_two(scene, [](const BroadcastView& one, const BroadcastView& other) {
    return !one.said || one.said->at >= other.clock || delivered(other, *one.said);
  });
}

bool agreed(const BroadcastScene& scene) {
  return each_two(scene, [](const BroadcastView& one, const BroadcastView& other) {
    return std::ranges::all_of(one.log, [&](const Saying& saying) {
      return saying.at >= other.clock || delivered(other, saying);
    });
  });
}

bool in_order(const BroadcastScene& scene) {
  return each_two(scene, [](const BroadcastView& one, const BroadcastView& other) {
    std::size_t last = 0;
    for (const Saying& saying : one.log) {
      const std::size_t place = place_of(other, saying);
      if (place == other.log.size()) continue;
      if (place < last) return false;
      last = place;
    }
    return true;
  });
}

bool in_time(const BroadcastScene& scene) {
  return each_two(scene, [](const BroadcastView& one, const BroadcastView& other) {
    return !one.said || std::ranges::all_of(other.log, [&](const Saying& saying) {
      return saying.sender != one.said->sender || saying.at == one.said->at;
    });
  });
}

bool invents_nothing(const BroadcastScene& scene) {
  return each_two(scene, [&](const BroadcastView& one, const BroadcastView& /*other*/) {
    for (std::size_t i = 0; i < one.log.size(); ++i) {
      if (place_of(one, one.log[i]) != i) return false;  // delivered twice
      const std::uint32_t sender = index(one.log[i].sender);
      if (!scene.up(sender) || !scene.slots[sender].view->correct) continue;
      const std::optional<Saying>& said = scene.slots[sender].view->said;
      if (!said || !said->same(one.log[i])) return false;
    }
    return true;
  });
}

Speaker BroadcastModel::make(NodeId node, Incarnation /*incarnation*/) const {
  const bool malicious = world.faults == broadcast::Faults::malicious;
  Speaker::Part part{.speaks = index(node) < world.speakers,
                     .window = world.window,
                     // Covers the delivery and the forgetting of all messages, with a raised delay.
                     .horizon = rules.latency(2 * rules.delay) +
                                2 * (rules.precision + 2 * rules.delay) + Nanos{world.window + 2}};
  if (index(node) == 0 && world.first_is_faulty)
    part.nature = malicious ? Nature::malicious : Nature::omits;
  return Speaker(node, rules, part);
}

BroadcastView BroadcastModel::view(const Machine& machine, Instant now) const {
  return {.correct = machine.correct(),
          .cut_short = machine.cut_short(now),
          .clock = machine.reading(now),
          .log = machine.log(),
          .said = machine.said()};
}

const char* BroadcastModel::broken(const BroadcastScene& scene) const {
  if (!in_time(scene)) return "in-time";
  if (!in_order(scene)) return "order";
  if (!agreed(scene)) return "agreement";
  if (!valid(scene)) return "validity";
  if (!invents_nothing(scene)) return "no-invention";
  const bool seen_whole = each_two(
      scene, [](const BroadcastView& one, const BroadcastView&) { return !one.cut_short; });
  return seen_whole ? nullptr : "the-world-is-long-enough";
}

template class Space<BroadcastModel>;
template class Search<BroadcastModel>;

}  // namespace tempo::check
