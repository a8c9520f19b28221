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
          .readers = true};
}

// A pause at either end lengthens the transit, so delay_max covers the delay and a pause.
lock::Bounds bounds_of(const BoundsMonitor::Rules& rules) {
  return {.step_min = kStep * 999 / 1000,
          .step_max = kStep * 1001 / 1000,
          .delay_max = 2 * rules.delay_max};
}

}  // namespace

BoundedDelayLocks::BoundedDelayLocks(Start start, Instant now, Draw& draw,
                                     BoundedDelayDriver& driver)
    : start_(std::move(start)),
      draw_(&draw),
      driver_(&driver),
      bounds_(bounds_of(start_.bounds)),
      silent_until_(now + start_.lease.keep(start_.lease.lease * 5 / 4)) {}

// --- members ---

void BoundedDelayLocks::follow(Instant now, const wire::LockVoters& voters) {
  if (voters.number <= (next_ ? next_->number : voters_.number)) return;
  next_ = voters;
  const bool stays = std::ranges::any_of(
      voters.slots, [&](const wire::LockVoter& voter) { return voter.host == start_.self; });
  if (!stays)
    for (auto& [name, slot] : slots_) lose(now, name, slot);
  if (nobody_inside()) enter_view(now);
}

bool BoundedDelayLocks::nobody_inside() const {
  return std::ranges::all_of(slots_, [](const auto& entry) { return entry.second.inside.empty(); });
}

// Every lock starts over, as after a restart: messages sent under other voters no longer count.
void BoundedDelayLocks::enter_view(Instant now) {
  voters_ = *std::exchange(next_, std::nullopt);
  slots_.clear();
  sites_.clear();
  monitor_.reset();
  trusted_ = false;
  beat_at_ = kNever;
  std::vector<std::string> names;
  for (const wire::LockVoter& voter : voters_.slots) {
    if (voter.host == kNoHost) continue;
    sites_.push_back(voter.host);
    names.push_back(start_.name_of(voter.host));
  }
  if (voters_.number > 1)
    silent_until_ = std::max(silent_until_, now + start_.lease.keep(start_.lease.lease * 5 / 4));
  if (const auto self = site_of(start_.self)) {
    rules_ = rules_of(static_cast<std::uint32_t>(sites_.size()));
    monitor_.emplace(start_.bounds, *self, std::move(names), voters_.number);
    monitor_->restart(now);
  }
  const auto waiting = std::exchange(clients_, {});
  for (const auto& [id, client] : waiting) {
    const auto again = acquire(
        now, {.client = id, .name = client.lock, .mode = client.mode, .silent = client.silent});
    if (!again) driver_->notify(id, {.kind = LockUpdate::Kind::refused});
  }
}

std::optional<std::uint32_t> BoundedDelayLocks::site_of(HostId host) const {
  const auto found = std::ranges::find(sites_, host);
  if (found == sites_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - sites_.begin());
}

// --- received messages ---

void BoundedDelayLocks::receive(Instant now, HostId from, Incarnation incarnation,
                                const wire::MutexBody& body) {
  const auto site = site_of(from);
  if (!member() || must_stay_silent(now) || !site || body.view != voters_.number) return;
  monitor_->received(now, *site, incarnation);
  follow_monitor(now);
  busy_until_ = now + kBusyFor;
  start_beating(now);
  Slot* const found = slot(now, body.name.text());
  if (found == nullptr)
    return;  // too many locks; no client of this host wants this one, so it sends no reply
  found->heard_until = now + start_.lease.lease;
  const lock::mutex::Message message{.kind = static_cast<lock::mutex::Kind>(body.kind),
                                     .mode = body.shared ? Mode::shared : Mode::exclusive,
                                     .reply = body.reply,
                                     .number = body.number,
                                     .ahead = body.ahead,
                                     .life = Incarnation{body.incarnation}};
  step(now, std::string(body.name.text()), *found,
       [&](Mutex& machine, Turn<Mutex>& turn) { machine.receive(turn, NodeId{*site}, message); });
}

void BoundedDelayLocks::receive(Instant now, HostId from, Incarnation incarnation,
                                const wire::BeatBody& body) {
  const auto site = site_of(from);
  if (!member() || must_stay_silent(now) || !site) return;
  if (body.busy) busy_until_ = now + kBusyFor;
  start_beating(now);
  monitor_->receive(now, *site, incarnation, body);
  follow_monitor(now);
  wake_locks(now);
  for (auto& [name, slot] : slots_) serve(now, name, slot);
}

// --- clients ---

Result<void> BoundedDelayLocks::acquire(Instant now, const LockRequest& request) {
  if (const auto wrong = wrong_with_name(request.name)) return std::unexpected(*wrong);
  CHECK(!clients_.contains(request.client));
  if (!member())
    return std::unexpected(
        "this machine has no vote on locks, and only voters can use silent and explicit locks; "
        "use --kind lease, or give this machine a vote with 'tempo admit'");
  if (clients_.size() >= kMaxClients)
    return std::unexpected(
        "too many clients hold or wait for locks on this machine; try again later");
  clients_[request.client] = {.lock = std::string(request.name),
                              .mode = request.mode,
                              .silent = request.silent,
                              .since = now};
  start_beating(now);
  if (must_stay_silent(now) || enqueue(now, request.client)) return {};
  clients_.erase(request.client);
  return std::unexpected("too many locks are in use; try again when some have been released");
}

bool BoundedDelayLocks::uses(Instant now, std::string_view name) const {
  const auto found = slots_.find(name);
  if (found != slots_.end() && found->second.heard_until > now) return true;
  return std::ranges::any_of(clients_,
                             [&](const auto& entry) { return entry.second.lock == name; });
}

// False: too many locks are in use.
bool BoundedDelayLocks::enqueue(Instant now, ClientId client) {
  Client& known = clients_.at(client);
  const std::string name = known.lock;
  Slot* const found = slot(now, name);
  if (found == nullptr) return false;
  known.listed = true;
  found->waiting.push_back(client);
  acquire(now, name, *found);
  serve(now, name, *found);
  return true;
}

void BoundedDelayLocks::release(Instant now, ClientId client) {
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
  if (idle) command(now, name, slot, MutexCommand::release());
  if (next_ && nobody_inside()) return enter_view(now);
  acquire(now, name, slot);
  serve(now, name, slot);
}

// The machine requests the lock for one client at a time: the first waiter.
void BoundedDelayLocks::acquire(Instant now, const std::string& name, Slot& slot) {
  const Phase phase = slot.machine.phase();
  if (slot.waiting.empty() || (phase != Phase::idle && phase != Phase::abstaining)) return;
  const Client& first = clients_.at(slot.waiting.front());
  if (!first.silent && slot.machine.trusts()) command(now, name, slot, MutexCommand::no_bounds());
  if (first.silent && trusts() && !slot.machine.trusts())
    command(now, name, slot, MutexCommand::bounds(bounds_));
  command(now, name, slot, MutexCommand::acquire(first.mode));
}

// A client gets the lock when this host has it and more than half of the members recently heard
// this host.
void BoundedDelayLocks::serve(Instant now, const std::string& name, Slot& slot) {
  if (slot.machine.phase() != Phase::inside || !monitor_->supported(now, start_.lease.lease / 4))
    return;
  const bool shared = slot.machine.mode() == Mode::shared;
  if (slot.inside.empty()) {
    if (slot.waiting.empty()) return command(now, name, slot, MutexCommand::release());
    if (shared && clients_.at(slot.waiting.front()).mode == Mode::exclusive) {
      command(now, name, slot, MutexCommand::release());
      return acquire(now, name, slot);
    }
    slot.entered = now;
    slot.deadline = now + start_.lease.hold();
    grant(now, slot, slot.waiting.front());
  }
  // Readers enter together, but only for a lease: a writer may wait at another host.
  if (!shared || now - slot.entered >= start_.lease.lease) return;
  while (!slot.waiting.empty() && clients_.at(slot.waiting.front()).mode == Mode::shared)
    grant(now, slot, slot.waiting.front());
}

void BoundedDelayLocks::grant(Instant now, Slot& slot, ClientId client) {
  std::erase(slot.waiting, client);
  slot.inside.push_back(client);
  Client& known = clients_.at(client);
  known.inside = true;
  known.since = now;
  driver_->notify(client, {.kind = LockUpdate::Kind::granted, .deadline = slot.deadline});
}

void BoundedDelayLocks::lose(Instant now, const std::string& name, Slot& slot) {
  const auto inside = std::exchange(slot.inside, {});
  if (inside.empty()) return;
  for (const ClientId client : inside) clients_.erase(client);
  command(now, name, slot, MutexCommand::release());
  for (const ClientId client : inside) driver_->notify(client, {.kind = LockUpdate::Kind::lost});
}

// --- the machines ---

BoundedDelayLocks::Slot* BoundedDelayLocks::slot(Instant now, std::string_view name) {
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
      slots_.emplace(name, Slot{.machine = Mutex(self, start_.life, rules_, birth)});
  Slot& fresh = place->second;
  step(now, place->first, fresh, [](Mutex& machine, Turn<Mutex>& turn) { machine.start(turn); });
  if (trusts()) command(now, place->first, fresh, MutexCommand::bounds(bounds_));
  return &fresh;
}

template <class Do>
void BoundedDelayLocks::step(Instant now, const std::string& name, Slot& slot, Do todo) {
  Outbox<Mutex> out;
  Turn<Mutex> turn{now, *draw_, out};
  todo(slot.machine, turn);
  bool sent = false;
  for (const Output<Mutex>& output : out) {
    if (output.kind == OutputKind::notice) continue;  // the machine's phase shows the same
    const wire::MutexBody body{.kind = static_cast<std::uint8_t>(output.message.kind),
                               .shared = output.message.mode == Mode::shared,
                               .reply = output.message.reply,
                               .name = wire::LockName(name),
                               .view = voters_.number,
                               .number = output.message.number,
                               .ahead = output.message.ahead,
                               .incarnation = std::to_underlying(output.message.life)};
    sent = true;
    if (output.kind == OutputKind::broadcast) {
      monitor_->sent_to_all();
      driver_->broadcast(body);
    } else {
      monitor_->sent(index(output.to));
      driver_->send(sites_[index(output.to)], body);
    }
  }
  if (sent) slot.mark = monitor_->mark();
  if (slot.machine.phase() == Phase::inside && slot.inside.empty()) serve(now, name, slot);
  if (slot.machine.phase() == Phase::idle) acquire(now, name, slot);
}

void BoundedDelayLocks::command(Instant now, const std::string& name, Slot& slot,
                                const MutexCommand& command) {
  step(now, name, slot, [&](Mutex& machine, Turn<Mutex>& turn) { machine.command(turn, command); });
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

void BoundedDelayLocks::wake_locks(Instant now) {
  for (auto& [name, slot] : slots_) {
    if (slot.machine.timers().first() > now || held_back(slot)) continue;
    step(now, name, slot, [](Mutex& machine, Turn<Mutex>& turn) {
      machine.on_timer(turn, machine.timers().first_name());
    });
  }
}

// --- time ---

Instant BoundedDelayLocks::due() const {
  if (!member()) return kNever;
  Instant first = beat_at_;
  for (const auto& [name, slot] : slots_)
    if (!held_back(slot)) first = std::min(first, slot.machine.timers().first());
  return first;
}

void BoundedDelayLocks::on_timer(Instant now) {
  if (!member()) return;
  if (beat_at_ <= now) beat(now);
  wake_locks(now);
}

// Heartbeats continue while bounded-delay locks are in use on any host.
void BoundedDelayLocks::start_beating(Instant now) {
  if (beat_at_ != kNever) return;
  beat_at_ = std::max(now, silent_until_);
  monitor_->restart(now);
}

void BoundedDelayLocks::beat(Instant now) {
  monitor_->stalled(now - beat_at_);  // a late heartbeat means that this host paused
  monitor_->expire_silent(now);
  follow_monitor(now);
  extend(now);
  if (!member() || must_stay_silent(now)) return;  // extend() may have entered a new view
  std::vector<ClientId> unlisted;
  for (const auto& [id, client] : clients_)
    if (!client.listed) unlisted.push_back(id);
  for (const ClientId id : unlisted) {
    if (enqueue(now, id)) continue;
    clients_.erase(id);
    driver_->notify(id, {.kind = LockUpdate::Kind::refused});
  }
  if (!clients_.empty()) busy_until_ = now + kBusyFor;
  if (busy_until_ <= now) {
    beat_at_ = kNever;
    return;
  }
  driver_->broadcast(monitor_->beat(now, !clients_.empty()));
  follow_monitor(now);
  beat_at_ = now + start_.bounds.interval;
}

void BoundedDelayLocks::extend(Instant now) {
  const Nanos lease = start_.lease.lease;
  for (auto& [name, slot] : slots_) {
    if (slot.inside.empty()) continue;
    if (slot.deadline <= now) {
      lose(now, name, slot);
    } else if (slot.deadline - now < lease * 3 / 4 && monitor_->supported(now, lease / 4)) {
      slot.deadline = now + start_.lease.hold();
      const std::vector<ClientId> inside = slot.inside;
      for (const ClientId client : inside)
        driver_->notify(client, {.kind = LockUpdate::Kind::extended, .deadline = slot.deadline});
    }
  }
  if (next_ && nobody_inside()) enter_view(now);
}

// If the monitor has just found that the bounds hold, or that they no longer hold, informs every
// machine in the same step.
void BoundedDelayLocks::follow_monitor(Instant now) {
  if (std::exchange(trusted_, monitor_->holds()) == monitor_->holds()) return;
  for (auto& [name, slot] : slots_) {
    const bool silent = slot.waiting.empty() || clients_.at(slot.waiting.front()).silent;
    if (!trusted_)
      command(now, name, slot, MutexCommand::no_bounds());
    else if (silent)
      command(now, name, slot, MutexCommand::bounds(bounds_));
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

std::string BoundedDelayLocks::mode() const {
  if (!member() || beat_at_ == kNever) return "";
  if (trusts()) return "silent locks treat silence as consent";
  return fmt::format("silent locks wait for explicit replies, because {}", monitor_->why());
}

}  // namespace tempo::locks
