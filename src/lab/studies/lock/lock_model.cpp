#include "lab/studies/lock/lock_model.h"

namespace tempo::check {

using lock::mutex::Phase;
using sim::lock::Site;
using sim::lock::SiteCommand;
using sim::lock::SiteRules;

// A step is one tick at every site.
SiteRules rules_of(const LockWorld& world) {
  lock::mutex::Rules rules{.members = world.sites,
                           .handling = {.request = world.handling, .reply = world.handling},
                           .longest_hold = world.hold,
                           .mindelay = world.sleep,
                           .delaystep = world.sleep,
                           .readers = world.readers > 0,
                           .variant = world.variant};
  const lock::Bounds bounds{.delay_min = Nanos{1}, .delay_max = Nanos{world.delay_max}};
  if (world.by_replies)
    rules.repeat = 2 * lock::Steps{world.sites} * rules.patience(bounds);
  else
    rules.bounds = bounds;
  return {
      .lock = rules, .contending = world.contending, .readers = world.readers, .restless = false};
}

Freedom freedom_of(const LockWorld& world) {
  return {.nodes = world.sites, .delay_max = world.delay_max, .budget = world.budget};
}

std::vector<std::pair<NodeId, SiteCommand>> commands_of(const LockWorld& world) {
  std::vector<std::pair<NodeId, SiteCommand>> commands;
  for (std::uint32_t i = 0; i < world.contending * world.entries; ++i)
    commands.emplace_back(NodeId{i % world.contending},
                          SiteCommand{.kind = SiteCommand::Kind::ask});
  return commands;
}

bool exclusion(const LockScene& scene) {
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    for (std::uint32_t j = 0; j < i; ++j) {
      if (!scene.up(i) || !scene.up(j)) continue;
      const LockView& one = *scene.slots[i].view;
      const LockView& other = *scene.slots[j].view;
      if (one.inside && other.inside && conflict(one.mode, other.mode)) return false;
    }
  return true;
}

bool all_at_rest(const LockScene& scene) {
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    if (scene.up(i) && !scene.slots[i].view->rests) return false;
  return true;
}

LockView LockModel::view(const Machine& site) const {
  return {.rests = site.client() == Site::Client::none && site.lock().phase() == Phase::idle,
          .inside = site.client() == Site::Client::inside,
          .mode = site.mode()};
}

template class Space<LockModel>;
template class Search<LockModel>;

}  // namespace tempo::check
