#include "lab/studies/lock/lease_model.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace tempo::check {
namespace {

using lock::Mode;
using lock::lease::Held;
using View = LeaseView;
using Guest = LeaseSite::Guest;

constexpr lock::LockId kFirst{0};
constexpr lock::LockId kSecond{1};

// The memory slots hold tokens: slot 0 the highest token of all grants of the first lock, slot 1
// the highest of its exclusive grants, slot 2 the highest of the second lock, which has exclusive
// grants only.
constexpr std::uint32_t kSubs = 8;   // limit of Held::sub
constexpr std::uint64_t kBlock = 2;  // counts reserved by one durable write
Memory token_of(const Held& held) {
  return static_cast<Memory>(std::min<std::uint64_t>(held.count * kSubs + held.sub, 255));
}

// The memory slot whose token must be lower than the token of the guest.
std::size_t slot_below(const Guest& guest) {
  if (guest.lock == kSecond) return 2;
  return guest.mode == Mode::exclusive ? 0 : 1;
}

bool entered(const Scene<View>& before, const Scene<View>& after, NodeId node) {
  const Scene<View>::Slot& was = before.slots[index(node)];
  const Scene<View>::Slot& is = after.slots[index(node)];
  if (is.view == nullptr || !is.view->guest.inside) return false;
  const Guest& ghost = was.view == nullptr ? Guest{} : was.view->ghost;
  if (ghost.inside && ghost.held == is.view->guest.held) return false;  // it has come back
  return was.view == nullptr || !was.view->guest.inside;
}

}  // namespace

LeaseModel::LeaseModel(const LeaseWorld& asked) : world(asked) {
  CHECK((asked.ballots + 2 * kBlock * (1 + asked.changes.size()) + 1) * kSubs <= 255 &&
        asked.subs < kSubs && (asked.second.empty() || asked.sites > 2));
  rules.lease = {.lease = Nanos{asked.lease},
                 .longest = Nanos{asked.lease},
                 .drift = Ppb{0},
                 .block = kBlock,
                 .nonces = 1,
                 .suppress_replies = asked.suppress_replies};
  const std::uint32_t members = asked.sites - (asked.cloned != kNobody ? 1 : 0);
  rules.view = lock::lease::one_vote_each(asked.voters == 0 ? members : asked.voters);
  if (asked.cloned != kNobody) {
    rules.cloned = asked.cloned;
    rules.clone = NodeId{members};
    rules.copy_shows = asked.copy_shows;
    rules.side = asked.side;
  }
  if (asked.policy) rules.view = two_members(*asked.policy);
  rules.fresh_disk = asked.fresh_disks;
  rules.write = Nanos{asked.slow_disks ? 1 : 0};
  rules.resumes = asked.resumes;
  rules.long_stay = Nanos{asked.lease};
}

View LeaseModel::view(const Machine& site, BootTime now) const {
  View view{.waits = site.waits(), .crashes = site.crashes()};
  if (site.guest().acts(now)) view.guest = site.guest();
  if (site.ghost().acts(now)) view.ghost = site.ghost();
  for (const lock::LockId id : {kFirst, kSecond, lock::lease::kViewLock})
    if (const auto* lock = site.member().lock(id)) view.top = std::max(view.top, lock->top());
  view.voters = site.member().state().view();
  return view;
}

const char* LeaseModel::broken(const Scene<View>& scene) const {
  std::array<const Guest*, std::size_t{2} * kMaxNodes> inside{};
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < scene.nodes; ++i) {
    if (!scene.up(i)) continue;
    for (const Guest* guest : {&scene.slots[i].view->guest, &scene.slots[i].view->ghost})
      if (guest->inside) inside[count++] = guest;
  }
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    for (std::uint32_t j = 0; j < i; ++j) {
      if (!scene.up(i) || !scene.up(j)) continue;
      const auto& [one, other] = std::tie(scene.slots[i].view->voters, scene.slots[j].view->voters);
      if (one.number == other.number && one != other) return "one-view";
    }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (inside[i]->lock != inside[j]->lock) continue;
      if (inside[i]->held == inside[j]->held) return "same-token";
      if (world.exclusion && conflict(inside[i]->mode, inside[j]->mode)) return "exclusion";
    }
  return nullptr;
}

const char* LeaseModel::broken_move(const Scene<View>& before, const Scene<View>& after,
                                    NodeId node) const {
  if (!world.exclusion || !entered(before, after, node)) return nullptr;
  const Guest& guest = after.slots[index(node)].view->guest;
  const Memory highest = before.slots[slot_below(guest)].memory;
  return token_of(guest.held) > highest ? nullptr : "token-order";
}

bool LeaseModel::good(const Scene<View>& scene) const {
  if (!world.comes_good) return true;
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    if (scene.up(i) && (scene.slots[i].view->waits || scene.slots[i].paused)) return false;
  return true;
}

bool LeaseModel::remember(const Scene<View>& before, Scene<View>& after, NodeId node) const {
  unsigned crashes = 0;
  for (std::uint32_t i = 0; i < after.nodes; ++i)
    if (after.up(i)) crashes += after.slots[i].view->crashes;
  if (crashes > world.crashes) return false;
  if (!after.up(index(node))) return true;
  // A restarted site continues above every number that it may have used, and so does a clone.
  const bool higher = crashes > 0 || world.cloned != kNobody;
  const std::uint64_t most =
      world.ballots + (higher ? 2 * kBlock : 0) + 2 * kBlock * world.changes.size();
  if (after.slots[index(node)].view->top > most) return false;
  if (!entered(before, after, node)) return true;
  const Guest& guest = after.slots[index(node)].view->guest;
  if (guest.held.sub > world.subs) return false;
  const auto raise = [&](std::size_t slot) {
    after.slots[slot].memory = std::max(before.slots[slot].memory, token_of(guest.held));
  };
  raise(guest.lock == kSecond ? 2 : 0);
  if (guest.lock == kFirst && guest.mode == Mode::exclusive) raise(1);
  return true;
}

Freedom freedom_of(const LeaseWorld& world) {
  return {.nodes = world.sites,
          .network = world.orderly ? Network::fifo : Network::bag,
          .delay_max = world.delay_max,
          .budget = world.budget,
          .mail_first = world.orderly,
          .settles = true,
          .cloned = world.cloned};
}

std::vector<std::pair<NodeId, LeaseSite::Command>> commands_of(const LeaseWorld& world) {
  using Command = LeaseSite::Command;
  std::vector<std::pair<NodeId, Command>> commands;
  for (const auto& [site, mode] : world.wishes)
    commands.emplace_back(site, Command{Command::Kind::want, mode});
  for (const NodeId site : world.second)
    commands.emplace_back(site, Command{.kind = Command::Kind::want, .lock = kSecond});
  for (const auto& [site, member] : world.changes)
    commands.emplace_back(site, Command{.kind = Command::Kind::change, .member = member});
  if (world.crashes > 0)
    for (std::uint32_t i = 0; i < world.sites; ++i) {
      commands.emplace_back(NodeId{i}, Command{.kind = Command::Kind::crash});
      if (world.lost_disks)
        commands.emplace_back(NodeId{i}, Command{.kind = Command::Kind::crash, .loses_disk = true});
    }
  return commands;
}

template class Space<LeaseModel>;
template class Search<LeaseModel>;

}  // namespace tempo::check
