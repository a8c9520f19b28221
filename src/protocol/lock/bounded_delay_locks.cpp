#include "protocol/lock/bounded_delay_locks.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace tempo::locks {
namespace {

using lock::Mutex;
using MutexCommand = lock::mutex::Command;
using lock::mutex::Phase;
using lock::mutex::Timer;

constexpr Nanos kStep = 1ms;
// Time that heartbeats continue after the last client of this host has left, and after the last
// message of another host that has a client.
constexpr Nanos kBusyFor = 5s;

lock::mutex::Rules rules_of(std::uint32_t members) {
  return {.members = members,
          .step = kStep,
          .handling = {.request = 1, .reply = 1, .serial = true},
          .longest_hold = 1000,
          .delaystep = 5,
          .repeat = 50,
          .readers = true,
          .late_restarts = true};
}

// A pause at either end lengthens the transit, so delay_max covers the delay and a pause.
lock::Bounds bounds_of(const BoundsMonitor::Rules& rules) {
  return {.step_min = kStep * 999 / 1000,
          .step_max = kStep * 1001 / 1000,
          .delay_max = 2 * rules.delay_max};
}

}  // namespace

BoundedDelayLocks::BoundedDelayLocks(const Start& start)
    : start_(start), bounds_(bounds_of(start.bounds)) {}

void BoundedDelayLocks::start(LockTurn& turn) {
  silent_until_ = turn.now + start_.lease.keep(start_.lease.lease * 5 / 4);
}

void BoundedDelayLocks::command(LockTurn& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

// --- members ---

void BoundedDelayLocks::on_command(LockTurn& turn, const Follow& follow) {
  const wire::LockVoters& voters = follow.voters;
  if (voters.number <= (next_ ? next_->number : voters_.number)) return;
  next_ = voters;
  const bool stays = std::ranges::any_of(
      voters.slots, [&](const wire::LockVoter& voter) { return voter.host == start_.self; });
  if (!stays)
    for (auto& [name, slot] : slots_) lose(turn, name, slot);
  if (nobody_inside()) enter_view(turn);
}

bool BoundedDelayLocks::nobody_inside() const {
  return std::ranges::all_of(slots_, [](const auto& entry) { return entry.second.inside.empty(); });
}

// Every lock starts over, as after a restart: messages sent under other voters no longer count.
void BoundedDelayLocks::enter_view(LockTurn& turn) {
  voters_ = *std::exchange(next_, std::nullopt);
  slots_.clear();
  sites_.clear();
  monitor_.reset();
  trusted_ = false;
  beat_at_ = kNever;
  for (const wire::LockVoter& voter : voters_.slots)
    if (voter.host != kNoHost) sites_.push_back(voter.host);
  if (voters_.number > 1)
    silent_until_ =
        std::max(silent_until_, turn.now + start_.lease.keep(start_.lease.lease * 5 / 4));
  if (const auto self = site_of(start_.self)) {
    rules_ = std::make_unique<const lock::mutex::Rules>(
        rules_of(static_cast<std::uint32_t>(sites_.size())));
    monitor_.emplace(start_.bounds, *self, sites_.size(), voters_.number);
    monitor_->restart(turn.now);
  }
  const auto waiting = std::exchange(clients_, {});
  for (const auto& [id, client] : waiting)
    on_command(turn,
               Acquire{.client = id,
                       .name = client.lock,
                       .mode = client.mode,
                       .kind = client.silent ? LockKind::silent : LockKind::explicit_replies});
}

std::optional<std::uint32_t> BoundedDelayLocks::site_of(HostId host) const {
  const auto found = std::ranges::find(sites_, host);
  if (found == sites_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - sites_.begin());
}

// --- received messages ---

void BoundedDelayLocks::receive(LockTurn& turn, NodeId from, const Message& message) {
  const auto site = site_of(start_.hosts->host_of(from));
  if (!member() || must_stay_silent(turn.now) || !site) return;
  std::visit([&](const auto& body) { on_message(turn, *site, message.sender, body); },
             message.body);
}

void BoundedDelayLocks::on_message(LockTurn& turn, std::uint32_t site, Incarnation sender,
                                   const wire::MutexBody& body) {
  if (body.view != voters_.number) return;
  monitor_->received(turn.now, site, sender);
  follow_monitor(turn);
  busy_until_ = turn.now + kBusyFor;
  start_beating(turn.now);
  Slot* const found = slot(turn, body.name.text());
  if (found == nullptr)
    return;  // too many locks; no client of this host wants this one, so it sends no reply
  found->heard_until = turn.now + start_.lease.lease;
  const lock::mutex::Message message{.kind = static_cast<lock::mutex::Kind>(body.kind),
                                     .mode = body.shared ? Mode::shared : Mode::exclusive,
                                     .reply = body.reply,
                                     .number = body.number,
                                     .ahead = body.ahead,
                                     .life = Incarnation{body.incarnation}};
  step(turn, std::string(body.name.text()), *found,
       [&](Mutex& machine, Turn<Mutex>& inner) { machine.receive(inner, NodeId{site}, message); });
}

void BoundedDelayLocks::on_message(LockTurn& turn, std::uint32_t site, Incarnation sender,
                                   const wire::BeatBody& body) {
  if (body.busy) busy_until_ = turn.now + kBusyFor;
  start_beating(turn.now);
  monitor_->receive(turn.now, site, sender, body);
  follow_monitor(turn);
  wake_locks(turn);
  for (auto& [name, slot] : slots_) serve(turn, name, slot);
}

// --- clients ---

void BoundedDelayLocks::on_command(LockTurn& turn, const Acquire& request) {
  if (clients_.contains(request.client)) return;
  if (const auto refusal = admit(turn, request))
    refuse(turn, request.client, *refusal, request.name);
}

std::optional<Refusal> BoundedDelayLocks::admit(LockTurn& turn, const Acquire& request) {
  if (const auto defect = defect_of(request.name)) return defect;
  if (!member()) return Refusal::no_vote;
  if (clients_.size() >= kMaxClients) return Refusal::too_many_clients;
  clients_[request.client] = {.lock = request.name,
                              .mode = request.mode,
                              .silent = request.kind == LockKind::silent,
                              .since = turn.now};
  start_beating(turn.now);
  if (must_stay_silent(turn.now) || enqueue(turn, request.client)) return std::nullopt;
  clients_.erase(request.client);
  return Refusal::too_many_locks;
}

void BoundedDelayLocks::refuse(LockTurn& turn, ClientId client, Refusal refusal,
                               const std::string& lock) {
  turn.out.notify(
      {.client = client, .kind = LockUpdate::Kind::refused, .refusal = refusal, .lock = lock});
}

bool BoundedDelayLocks::uses(BootTime now, std::string_view name) const {
  const auto found = slots_.find(name);
  if (found != slots_.end() && found->second.heard_until > now) return true;
  return std::ranges::any_of(clients_,
                             [&](const auto& entry) { return entry.second.lock == name; });
}

// False: too many locks are in use.
bool BoundedDelayLocks::enqueue(LockTurn& turn, ClientId client) {
  Client& known = clients_.at(client);
  const std::string name = known.lock;
  Slot* const found = slot(turn, name);
  if (found == nullptr) return false;
  known.listed = true;
  found->waiting.push_back(client);
  acquire(turn, name, *found);
  serve(turn, name, *found);
  return true;
}

void BoundedDelayLocks::on_command(LockTurn& turn, const Release& release) {
  const ClientId client = release.client;
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const std::string name = found->second.lock;
  const bool listed = found->second.listed;
  clients_.erase(found);
  if (!listed) return;
  const auto place = slots_.find(name);
  CHECK(place != slots_.end());
  Slot& slot = place->second;
  std::erase(slot.waiting, client);
  const bool was_inside = std::erase(slot.inside, client) > 0;
  // The machine requests the lock for the first waiter; without a waiter the request is not needed.
  const bool idle = slot.inside.empty() && (was_inside || slot.waiting.empty());
  if (idle) command(turn, name, slot, MutexCommand::release());
  if (next_ && nobody_inside()) return enter_view(turn);
  acquire(turn, name, slot);
  serve(turn, name, slot);
}

// The machine requests the lock for one client at a time: the first waiter.
void BoundedDelayLocks::acquire(LockTurn& turn, const std::string& name, Slot& slot) {
  const Phase phase = slot.machine.phase();
  if (slot.waiting.empty() || (phase != Phase::idle && phase != Phase::abstaining)) return;
  const Client& first = clients_.at(slot.waiting.front());
  if (!first.silent && slot.machine.trusts()) command(turn, name, slot, MutexCommand::no_bounds());
  if (first.silent && trusts() && !slot.machine.trusts())
    command(turn, name, slot, MutexCommand::bounds(bounds_));
  command(turn, name, slot, MutexCommand::acquire(first.mode));
}

// A client gets the lock when this host has it and more than half of the members recently heard
// this host.
void BoundedDelayLocks::serve(LockTurn& turn, const std::string& name, Slot& slot) {
  if (slot.machine.phase() != Phase::inside ||
      !monitor_->supported(turn.now, start_.lease.lease / 4))
    return;
  const bool shared = slot.machine.mode() == Mode::shared;
  if (slot.inside.empty()) {
    if (slot.waiting.empty()) return command(turn, name, slot, MutexCommand::release());
    if (shared && clients_.at(slot.waiting.front()).mode == Mode::exclusive) {
      command(turn, name, slot, MutexCommand::release());
      return acquire(turn, name, slot);
    }
    slot.entered = turn.now;
    slot.deadline = turn.now + start_.lease.hold();
    grant(turn, slot, slot.waiting.front());
  }
  // Readers enter together, but only for a lease: a writer may wait at another host.
  if (!shared || turn.now - slot.entered >= start_.lease.lease) return;
  while (!slot.waiting.empty() && clients_.at(slot.waiting.front()).mode == Mode::shared)
    grant(turn, slot, slot.waiting.front());
}

void BoundedDelayLocks::grant(LockTurn& turn, Slot& slot, ClientId client) {
  std::erase(slot.waiting, client);
  slot.inside.push_back(client);
  Client& known = clients_.at(client);
  known.inside = true;
  known.since = turn.now;
  turn.out.notify({.client = client, .kind = LockUpdate::Kind::granted, .deadline = slot.deadline});
}

void BoundedDelayLocks::lose(LockTurn& turn, const std::string& name, Slot& slot) {
  const auto inside = std::exchange(slot.inside, {});
  if (inside.empty()) return;
  for (const ClientId client : inside) clients_.erase(client);
  command(turn, name, slot, MutexCommand::release());
  for (const ClientId client : inside)
    turn.out.notify({.client = client, .kind = LockUpdate::Kind::lost});
}

// --- the machines ---

BoundedDelayLocks::Slot* BoundedDelayLocks::slot(LockTurn& turn, std::string_view name) {
  if (const auto found = slots_.find(name); found != slots_.end()) return &found->second;
  if (slots_.size() >= kMaxLocks) {
    // Replace a machine without a request: the other hosts send again what it knew.
    const auto idle = std::ranges::find_if(slots_, [](const auto& entry) {
      return entry.second.machine.phase() == Phase::idle && entry.second.waiting.empty();
    });
    if (idle == slots_.end()) return nullptr;
    slots_.erase(idle);
  }
  const NodeId self{*site_of(start_.self)};
  // A new machine learns from the others what it missed; a single member has missed nothing.
  const auto birth = sites_.size() == 1 ? lock::mutex::Birth::first : lock::mutex::Birth::again;
  const auto [place, made] =
      slots_.emplace(name, Slot{.machine = Mutex(self, start_.life, *rules_, birth)});
  Slot& fresh = place->second;
  step(turn, place->first, fresh, [](Mutex& machine, Turn<Mutex>& inner) { machine.start(inner); });
  if (trusts()) command(turn, place->first, fresh, MutexCommand::bounds(bounds_));
  return &fresh;
}

template <class Do>
void BoundedDelayLocks::step(LockTurn& turn, const std::string& name, Slot& slot, Do todo) {
  step_part(turn, slot.machine, todo, [&](const Outbox<Mutex>& outputs) {
    bool sent = false;
    for (const Output<Mutex>& output : outputs) sent |= send(turn, name, output);
    if (sent) slot.mark = monitor_->mark();
  });
  if (slot.machine.phase() == Phase::inside && slot.inside.empty()) serve(turn, name, slot);
  if (slot.machine.phase() == Phase::idle) acquire(turn, name, slot);
}

// False: the output is a notice, and the machine's phase shows the same.
bool BoundedDelayLocks::send(LockTurn& turn, const std::string& name, const Output<Mutex>& output) {
  if (output.kind == OutputKind::notice) return false;
  const Message message{
      .sender = start_.life,
      .body = wire::MutexBody{.kind = static_cast<std::uint8_t>(output.message.kind),
                              .shared = output.message.mode == Mode::shared,
                              .reply = output.message.reply,
                              .name = wire::LockName(name),
                              .view = voters_.number,
                              .number = output.message.number,
                              .ahead = output.message.ahead,
                              .incarnation = std::to_underlying(output.message.life)}};
  if (output.kind == OutputKind::broadcast) {
    monitor_->sent_to_all();
    turn.out.broadcast(message);
  } else {
    const std::uint32_t site = index(output.to);
    monitor_->sent(site);
    if (const auto* to = start_.hosts->find(sites_[site])) turn.out.send(to->node, message);
  }
  return true;
}

void BoundedDelayLocks::command(LockTurn& turn, const std::string& name, Slot& slot,
                                const MutexCommand& command) {
  step(turn, name, slot,
       [&](Mutex& machine, Turn<Mutex>& inner) { machine.command(inner, command); });
}

// A window, or the time in which a refuser must answer, ends only when silence is confirmed
// (bounds_monitor.h).
bool BoundedDelayLocks::held_back(const Slot& slot) const {
  const Mutex& machine = slot.machine;
  if (!machine.trusts() || monitor_->confirmed(slot.mark)) return false;
  const auto timer = static_cast<Timer>(machine.timers().first_name());
  const bool window = machine.phase() == Phase::window || machine.phase() == Phase::abstaining;
  return timer == Timer::answer || (timer == Timer::phase && window);
}

void BoundedDelayLocks::wake_locks(LockTurn& turn) {
  for (auto& [name, slot] : slots_) {
    if (slot.machine.timers().first() > turn.now || held_back(slot)) continue;
    step(turn, name, slot, [](Mutex& machine, Turn<Mutex>& inner) {
      machine.on_timer(inner, machine.timers().first_name());
    });
  }
}

// --- time ---

BootTime BoundedDelayLocks::due() const {
  if (!member()) return kNever;
  BootTime first = beat_at_;
  for (const auto& [name, slot] : slots_)
    if (!held_back(slot)) first = std::min(first, slot.machine.timers().first());
  return first;
}

void BoundedDelayLocks::on_timer(LockTurn& turn, TimerId /*timer*/) {
  if (!member()) return;
  if (beat_at_ <= turn.now) beat(turn);
  wake_locks(turn);
}

// Heartbeats continue while bounded-delay locks are in use on any host.
void BoundedDelayLocks::start_beating(BootTime now) {
  if (beat_at_ != kNever) return;
  beat_at_ = std::max(now, silent_until_);
  monitor_->restart(now);
}

void BoundedDelayLocks::beat(LockTurn& turn) {
  const BootTime now = turn.now;
  monitor_->stalled(now - beat_at_);  // a late heartbeat means that this host paused
  monitor_->expire_silent(now);
  follow_monitor(turn);
  extend(turn);
  if (!member() || must_stay_silent(now)) return;  // extend() may have entered a new view
  std::vector<ClientId> unlisted;
  for (const auto& [id, client] : clients_)
    if (!client.listed) unlisted.push_back(id);
  for (const ClientId id : unlisted) {
    if (enqueue(turn, id)) continue;
    refuse(turn, id, Refusal::too_many_locks, clients_.at(id).lock);
    clients_.erase(id);
  }
  if (!clients_.empty()) busy_until_ = now + kBusyFor;
  if (busy_until_ <= now) {
    beat_at_ = kNever;
    return;
  }
  turn.out.broadcast({.sender = start_.life, .body = monitor_->beat(now, !clients_.empty())});
  follow_monitor(turn);
  beat_at_ = now + start_.bounds.interval;
}

void BoundedDelayLocks::extend(LockTurn& turn) {
  const BootTime now = turn.now;
  const Nanos lease = start_.lease.lease;
  for (auto& [name, slot] : slots_) {
    if (slot.inside.empty()) continue;
    if (slot.deadline <= now) {
      lose(turn, name, slot);
    } else if (slot.deadline - now < lease * 3 / 4 && monitor_->supported(now, lease / 4)) {
      slot.deadline = now + start_.lease.hold();
      for (const ClientId client : slot.inside)
        turn.out.notify(
            {.client = client, .kind = LockUpdate::Kind::extended, .deadline = slot.deadline});
    }
  }
  if (next_ && nobody_inside()) enter_view(turn);
}

// If the monitor has just found that the bounds hold, or that they no longer hold, informs every
// machine in the same step.
void BoundedDelayLocks::follow_monitor(LockTurn& turn) {
  if (std::exchange(trusted_, monitor_->holds()) == monitor_->holds()) return;
  for (auto& [name, slot] : slots_) {
    const bool silent = slot.waiting.empty() || clients_.at(slot.waiting.front()).silent;
    if (!trusted_)
      command(turn, name, slot, MutexCommand::no_bounds());
    else if (silent)
      command(turn, name, slot, MutexCommand::bounds(bounds_));
  }
}

// --- for users ---

std::vector<Known> BoundedDelayLocks::known() const {
  std::vector<Known> all;
  for (const auto& [name, slot] : slots_) {
    if (slot.inside.empty() && slot.waiting.empty()) continue;
    Known& known = all.emplace_back();
    known.name = name;
    known.kind = slot.machine.trusts() ? LockKind::silent : LockKind::explicit_replies;
    known.mode = slot.machine.mode();
    if (!slot.inside.empty()) {
      known.holder = start_.self;
      known.held_here = true;
      known.until = slot.deadline;
    }
    for (const auto& [id, client] : clients_)
      if (client.lock == name)
        known.clients.push_back({id, client.mode, client.inside, client.since, lock::kNoToken});
  }
  return all;
}

std::optional<BoundsMonitor::Breach> BoundedDelayLocks::why() const {
  if (!member() || beat_at_ == kNever) return std::nullopt;
  return monitor_->why();
}

std::string silent_mode_text(const BoundsMonitor::Breach& why, const BoundsMonitor::Rules& rules,
                             std::string_view member) {
  if (why.kind == BoundsMonitor::Breach::Kind::none) return "silent locks treat silence as consent";
  return fmt::format("silent locks wait for explicit replies, because {}",
                     BoundsMonitor::text_of(why, rules, member));
}

const char* BoundedDelayLocks::check() const {
  for (const auto& [name, slot] : slots_)
    if (const char* broken = slot.machine.check()) return broken;
  return nullptr;
}

static_assert(Machine<BoundedDelayLocks>);

}  // namespace tempo::locks
