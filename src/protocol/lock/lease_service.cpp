#include "protocol/lock/lock_service.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"
#include "protocol/lock/lock_mail.h"

namespace tempo::locks {
namespace {

constexpr std::string_view kViewName = "@view";

}  // namespace

using lock::LockId;
using lock::lease::Command;
using lock::lease::Member;
using lock::lease::Message;
using lock::lease::Notice;

std::optional<std::string> wrong_with_name(std::string_view name) {
  if (name.empty()) return "the lock's name is empty; give it 1 to 64 characters";
  if (name.size() > wire::kMaxLockName)
    return "the lock's name is longer than 64 characters; use a shorter one";
  const auto plain = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::ranges::all_of(name, plain))
    return "the lock's name has a space or a character that is not printable ASCII; remove it";
  return std::nullopt;
}

Service::Service(Start start, Draw& draw, Driver& driver)
    : members_(std::move(start.hosts)),
      rules_(start.rules),
      draw_(&draw),
      driver_(&driver),
      member_(member_start(start)),
      names_(lock::lease::kMaxLocks) {}

// A record that names more hosts than this host can number counts as no record.
std::optional<Record> Service::record_of(const Saved& saved) const {
  const auto view = view_of(saved.view, members_);
  const auto next = view_of(saved.next, members_);
  if (!view || !next) return std::nullopt;
  Record record{.boot = saved.boot, .reserve = saved.reserve, .view = *view};
  if (saved.next.count != 0) record.next = {saved.next.count, *next};
  return record;
}

Member::Start Service::member_start(const Start& start) const {
  Member::Start made{.self = members_.member_of(start.self).value(),
                     .rules = start.rules,
                     .view = view_of(first_voters(start.voters), members_).value(),
                     .record = start.saved ? record_of(*start.saved) : std::nullopt,
                     .rebooted = start.rebooted};
  lock::lease::View& view = made.record ? made.record->view : made.view;
  view.available = start.available && std::popcount(view.voters()) == 2;
  return made;
}

// --- inputs ---

void Service::start(Instant now) {
  step(now, [&](Turn<Member>& turn) { member_.start(turn); });
}

void Service::receive(Instant now, HostId from, const wire::LockBody& body) {
  // A lease longer than our longest could outlast our silence after a restart. The remaining time
  // of a hand-over counts from the receiver's last message, which may be up to a lease old.
  if (body.length > rules_.longest || body.pass.left > 2 * rules_.longest) {
    ++dropped_;
    return;
  }
  const auto sender = members_.member_of(from);
  const std::string_view name = body.name.text();
  std::optional<LockId> id = lock::lease::kViewLock;
  if (!name.empty() && name != kViewName) id = number(now, name);
  const std::optional<Message> message = id ? message_of(body, members_, *id) : std::nullopt;
  if (!sender || !message) {
    ++dropped_;
    return;
  }
  if (message->kind == lock::lease::Kind::record && message->reserve != 0) last_record_ = from;
  step(now, [&](Turn<Member>& turn) { member_.receive(turn, *sender, *message); });
}

void Service::on_timer(Instant now) {
  step(now, [&](Turn<Member>& turn) { member_.on_timer(turn, member_.timers().first_name()); });
}

void Service::written(Instant now, const Saved& saved) {
  Record record = record_of(saved).value();
  record.view.available = view().available;
  step(now, [&](Turn<Member>& turn) { member_.command(turn, Command::persisted(record)); });
}

Result<void> Service::acquire(Instant now, const LockRequest& request) {
  if (const auto wrong = wrong_with_name(request.name)) return std::unexpected(*wrong);
  CHECK(!clients_.contains(request.client));
  if (request.lease != Nanos{0} &&
      (request.lease < kShortestLease || request.lease > rules_.longest))
    return std::unexpected(fmt::format(
        "the lease must be {} to {} long on this machine; for longer leases raise 'lease-max-ms' "
        "under [locks] in tempo.toml on every machine",
        span_text(kShortestLease), span_text(rules_.longest)));
  if (clients_.size() >= kMaxClientsHere)
    return std::unexpected(
        "too many clients hold or wait for locks on this machine; try again later");
  const std::optional<LockId> id = number(now, request.name);
  if (!id)
    return std::unexpected("too many locks are in use; try again when some have been released");
  clients_[request.client] = {.lock = *id, .mode = request.mode, .since = now};
  step(now, [&](Turn<Member>& turn) {
    member_.command(turn, Command::acquire(*id, request.client, request.mode, request.network_us,
                                           request.lease));
  });
  return {};
}

void Service::release(Instant now, ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const LockId id = found->second.lock;
  clients_.erase(found);
  step(now, [&](Turn<Member>& turn) { member_.command(turn, Command::release(id, client)); });
}

Result<void> Service::change(Instant now, HostId host, std::uint8_t votes) {
  const auto member = members_.member_of(host);
  if (!member) return std::unexpected("too many machines are known; this one cannot get a vote");
  refused_ = false;
  step(now, [&](Turn<Member>& turn) { member_.command(turn, Command::change(*member, votes)); });
  if (refused_)
    return std::unexpected(
        "the voters cannot change: another change is in progress, no voter would remain, or the "
        "policy 'available' forbids it");
  return {};
}

void Service::give_up_change(Instant now) {
  step(now, [&](Turn<Member>& turn) { member_.command(turn, Command::no_change()); });
}

void Service::ask_record(HostId host) {
  last_record_ = kNoHost;
  driver_->send(host,
                body_of({.kind = lock::lease::Kind::query, .view = view().number}, members_, ""));
}

// --- outputs ---

template <class Do>
void Service::step(Instant now, Do todo) {
  outbox_.clear();
  Turn<Member> turn{now, *draw_, outbox_};
  todo(turn);
  carry_out(now);
}

void Service::carry_out(Instant now) {
  // A notification may make a client send another request, which is a step of its own.
  const std::vector<Output<Member>> outputs(outbox_.begin(), outbox_.end());
  for (const auto& output : outputs) {
    if (output.kind == OutputKind::notice) {
      on_notice(now, output.notice);
      continue;
    }
    if (output.kind == OutputKind::persist) {
      const Record& record = output.record;
      Saved saved{record.boot, record.reserve, voters_of(record.view, members_), {}};
      if (record.next.count != 0) saved.next = voters_of(record.next.view, members_);
      saved.next.count = record.next.count;
      driver_->write(saved);
      continue;
    }
    const Message& message = output.message;
    const bool of_all =
        message.kind == lock::lease::Kind::query || message.kind == lock::lease::Kind::record;
    const std::string_view name =
        message.lock == lock::lease::kViewLock ? kViewName : names_.name_of(message.lock);
    const wire::LockBody body = body_of(message, members_, of_all ? std::string_view{} : name);
    if (output.kind == OutputKind::broadcast)
      driver_->broadcast(body);
    else
      driver_->send(members_.host_of(output.to), body);
  }
}

void Service::on_notice(Instant now, const Notice& notice) {
  using Kind = Notice::Kind;
  if (notice.kind == Kind::view) return driver_->voters_changed();
  if (notice.lock == lock::lease::kViewLock) {
    refused_ |= notice.kind == Kind::refused;
    return;
  }
  if (notice.kind == Kind::extended) {
    for (const auto& [id, client] : clients_)
      if (client.lock == notice.lock && client.inside)
        driver_->notify(id, {.kind = LockUpdate::Kind::extended, .deadline = notice.deadline});
    return;
  }
  const auto found = clients_.find(notice.client);
  if (found == clients_.end()) return;
  switch (notice.kind) {
    case Kind::granted:
      found->second.inside = true;
      found->second.since = now;
      found->second.token = notice.token;
      return driver_->notify(
          notice.client,
          {.kind = LockUpdate::Kind::granted, .token = notice.token, .deadline = notice.deadline});
    case Kind::lost:
      clients_.erase(found);
      return driver_->notify(notice.client, {.kind = LockUpdate::Kind::lost});
    case Kind::refused:
      clients_.erase(found);
      return driver_->notify(notice.client, {.kind = LockUpdate::Kind::refused});
    case Kind::extended:
    case Kind::view:
      break;
  }
}

std::optional<LockId> Service::number(Instant now, std::string_view name) {
  return names_.number(name, [&](LockId id) {
    bool forgotten = false;
    step(now, [&](Turn<Member>& turn) { forgotten = member_.forget(turn, id); });
    return forgotten;
  });
}

bool Service::uses(Instant now, std::string_view name) const {
  const auto id = names_.find(name);
  const lock::lease::Lock* const lock = id ? member_.lock(*id) : nullptr;
  if (lock == nullptr) return false;
  const auto lasts = [&](const auto& one) { return one.until > now; };
  return !lock->clients().empty() || (lock->lease() && lasts(*lock->lease())) ||
         std::ranges::any_of(lock->grantor().promises(), lasts) ||
         std::ranges::any_of(lock->peers().all(), [&](const lock::lease::Peer& peer) {
           return !peer.waiting.empty() && peer.fresh_until > now;
         });
}

// --- for users ---

std::vector<Known> Service::known(Instant now) const {
  std::vector<Known> all;
  names_.for_each([&](const std::string& name, LockId id) {
    const lock::lease::Lock* lock = member_.lock(id);
    if (lock == nullptr || lock->forgettable()) return;
    Known known;
    known.name = name;
    if (const auto& lease = lock->lease(); lease && lease->until > now) {
      known.mode = lease->mode;
      known.holder = members_.host_of(member_.state().self);
      known.held_here = true;
      known.until = lease->until;
      known.token = lease->held().token();
    } else {
      for (const auto& promise : lock->grantor().promises()) {
        if (promise.until <= now) continue;
        known.mode = promise.mode;
        known.holder = members_.host_of(promise.ballot.origin);
        known.until = promise.until;
      }
    }
    for (const auto& [number, client] : clients_)
      if (client.lock == id)
        known.clients.push_back({number, client.mode, client.inside, client.since, client.token});
    for (const lock::lease::Peer& peer : lock->peers().all())
      for (const lock::lease::Waiter& waiter : peer.waiting)
        if (peer.fresh_until > now)
          known.elsewhere.push_back({members_.host_of(peer.member), waiter.mode, waiter.ticket});
    all.push_back(std::move(known));
  });
  return all;
}

}  // namespace tempo::locks
