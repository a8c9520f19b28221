#include "protocol/lock/lease_service.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "protocol/lock/lock_mail.h"

namespace tempo::locks {
namespace {

constexpr std::string_view kViewName = "@view";

}  // namespace

using lock::LockId;
using lock::lease::Member;
using MemberCommand = lock::lease::Command;

LeaseService::LeaseService(const Start& start)
    : hosts_(start.hosts),
      rules_(start.rules),
      member_(member_start(start)),
      names_(lock::lease::kMaxLocks) {}

// A record that names more hosts than this host can number counts as no record.
std::optional<lock::lease::Record> LeaseService::record_of(const Saved& saved) const {
  const auto view = view_of(saved.view, *hosts_);
  const auto next = view_of(saved.next, *hosts_);
  if (!view || !next) return std::nullopt;
  lock::lease::Record record{.boot = saved.boot,
                             .reserve = saved.reserve,
                             .view = *view,
                             .id = locks::record_of(saved.record)};
  for (const wire::LockClaim& claim : saved.claims) {
    const NodeId voter = hosts_->number_of(claim.host);
    if (voter == kNobody) return std::nullopt;
    record.claims.push_back(
        {voter, {locks::record_of(claim.record), lock::lease::Boot{claim.boot}}});
  }
  if (saved.next.count != 0) record.next = {saved.next.count, *next};
  return record;
}

Member::Start LeaseService::member_start(const Start& start) const {
  const auto voters = view_of(first_voters(start.voters), *hosts_);
  CHECK(voters);
  Member::Start made{.self = hosts_->number_of(start.self),
                     .rules = start.rules,
                     .view = *voters,
                     .record = start.saved ? record_of(*start.saved) : std::nullopt,
                     .rebooted = start.rebooted,
                     .lost = start.lost,
                     .first = start.first};
  lock::lease::View& view = made.record ? made.record->view : made.view;
  view.available = start.available && std::popcount(view.voters()) == 2;
  return made;
}

// --- inputs ---

template <class Do>
void LeaseService::step(Turn<LeaseService>& turn, Do todo) {
  step_part(turn, member_, todo, [&](const Output<Member>& output) { carry_out(turn, output); });
}

void LeaseService::command_member(Turn<LeaseService>& turn, const MemberCommand& command) {
  step(turn, [&](Member& member, Turn<Member>& inner) { member.command(inner, command); });
}

void LeaseService::start(Turn<LeaseService>& turn) {
  step(turn, [](Member& member, Turn<Member>& inner) { member.start(inner); });
}

void LeaseService::receive(Turn<LeaseService>& turn, NodeId from, const Message& body) {
  // A lease longer than our longest could outlast our silence after a restart. The remaining time
  // of a hand-over counts from the receiver's last message, which may be up to a lease old.
  if (body.length > rules_.longest || body.pass.left > 2 * rules_.longest) {
    ++dropped_;
    return;
  }
  const std::string_view name = body.name.text();
  std::optional<LockId> id = lock::lease::kViewLock;
  if (!name.empty() && name != kViewName) id = number(turn, name);
  auto message = id ? message_of(body, *hosts_, *id) : std::nullopt;
  if (!message) {
    ++dropped_;
    return;
  }
  const wire::Directory::Host* const sender = std::as_const(*hosts_).find(from);
  if (sender != nullptr) message->process = std::to_underlying(sender->nonce);
  if (message->kind == lock::lease::Kind::record && message->reserve != 0)
    turn.out.notify(TakesPart{hosts_->host_of(from)});
  learn_holder(from, *message);
  step(turn, [&](Member& member, Turn<Member>& inner) { member.receive(inner, from, *message); });
}

void LeaseService::on_timer(Turn<LeaseService>& turn, TimerId timer) {
  step(turn, [&](Member& member, Turn<Member>& inner) { member.on_timer(inner, timer); });
}

void LeaseService::command(Turn<LeaseService>& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void LeaseService::on_command(Turn<LeaseService>& turn, const Persisted& persisted) {
  std::optional<lock::lease::Record> record = record_of(persisted.record);
  if (!record) return;
  record->view.available = view().available;
  command_member(turn, Member::persisted(*record));
}

template <class Request>
void LeaseService::admit_or_refuse(Turn<LeaseService>& turn, const Request& request) {
  if (clients_.contains(request.client)) return;
  if (const auto refusal = admit(turn, request))
    turn.out.notify(LockUpdate{.client = request.client,
                               .kind = LockUpdate::Kind::refused,
                               .refusal = *refusal,
                               .lock = request.name});
}

void LeaseService::on_command(Turn<LeaseService>& turn, const Acquire& request) {
  admit_or_refuse(turn, request);
}

void LeaseService::on_command(Turn<LeaseService>& turn, const Resume& request) {
  admit_or_refuse(turn, request);
}

std::optional<Refusal> LeaseService::admit(Turn<LeaseService>& turn, const Resume& request) {
  if (const auto defect = defect_of(request.name)) return defect;
  if (request.lease > rules_.longest) return Refusal::lease_length;
  if (clients_.size() >= kMaxClientsHere) return Refusal::too_many_clients;
  const std::optional<LockId> id = number(turn, request.name);
  if (!id) return Refusal::too_many_locks;
  const auto held = lock::lease::Held::of(request.token);
  clients_[request.client] = {.lock = *id, .mode = request.mode, .since = turn.now};
  command_member(turn, {.kind = MemberCommand::Kind::resume,
                        .lock = *id,
                        .client = request.client,
                        .mode = request.mode,
                        .length = request.lease,
                        .session = request.session,
                        .ballot = {held.count, hosts_->number_of(request.origin)},
                        .sub = held.sub,
                        .deadline = request.deadline});
  return std::nullopt;
}

std::optional<Refusal> LeaseService::admit(Turn<LeaseService>& turn, const Acquire& request) {
  if (const auto defect = defect_of(request.name)) return defect;
  if (request.lease != Nanos{0} &&
      (request.lease < kShortestLease || request.lease > rules_.longest))
    return Refusal::lease_length;
  if (clients_.size() >= kMaxClientsHere) return Refusal::too_many_clients;
  const std::optional<LockId> id = number(turn, request.name);
  if (!id) return Refusal::too_many_locks;
  clients_[request.client] = {.lock = *id, .mode = request.mode, .since = turn.now};
  command_member(turn, MemberCommand::acquire(*id, request.client, request.mode, request.network_us,
                                              request.lease, request.session, request.no_wait));
  return std::nullopt;
}

void LeaseService::on_command(Turn<LeaseService>& turn, const Release& release) {
  const auto found = clients_.find(release.client);
  if (found == clients_.end()) return;
  const LockId id = found->second.lock;
  clients_.erase(found);
  command_member(turn, MemberCommand::release(id, release.client));
}

void LeaseService::on_command(Turn<LeaseService>& turn, const ChangeVotes& change) {
  const NodeId member = hosts_->number_of(change.host);
  if (member == kNobody) return turn.out.notify(ChangeRefused{});
  command_member(turn, MemberCommand::change(member, change.votes));
}

void LeaseService::on_command(Turn<LeaseService>& turn, const GiveUpChange& /*give_up*/) {
  command_member(turn, MemberCommand::no_change());
}

void LeaseService::on_command(Turn<LeaseService>& turn, const Retire& /*retire*/) {
  command_member(turn, MemberCommand::retire());
}

void LeaseService::on_command(Turn<LeaseService>& turn, const AskRecord& ask) {
  const NodeId to = hosts_->number_of(ask.host);
  if (to == kNobody) return;
  turn.out.send(to,
                body_of({.kind = lock::lease::Kind::query, .view = view().number}, *hosts_, ""));
}

// --- outputs ---

void LeaseService::carry_out(Turn<LeaseService>& turn, const Output<Member>& output) {
  if (output.kind == OutputKind::notice) return on_notice(turn, output.notice);
  if (output.kind == OutputKind::persist) {
    const lock::lease::Record& record = output.record;
    Saved saved{.boot = record.boot,
                .reserve = record.reserve,
                .view = voters_of(record.view, *hosts_),
                .record = locks::record_of(record.id),
                .claims = claims_of(record.claims, *hosts_)};
    if (record.next.count != 0) saved.next = voters_of(record.next.view, *hosts_);
    saved.next.count = record.next.count;
    return turn.out.persist(saved);
  }
  pass_on(turn, output, [&](const lock::lease::Message& message) {
    learn_holder(member_.state().self, message);
    const bool of_all =
        message.kind == lock::lease::Kind::query || message.kind == lock::lease::Kind::record;
    const std::string_view name =
        message.lock == lock::lease::kViewLock ? kViewName : names_.name_of(message.lock);
    return body_of(message, *hosts_, of_all ? std::string_view{} : name);
  });
}

void LeaseService::on_notice(Turn<LeaseService>& turn, const lock::lease::Notice& notice) {
  using Kind = lock::lease::Notice::Kind;
  if (notice.kind == Kind::view) return turn.out.notify(VotersChanged{});
  if (notice.kind == Kind::retired) return turn.out.notify(Retired{});
  if (notice.lock == lock::lease::kViewLock) {
    if (notice.kind == Kind::refused) turn.out.notify(ChangeRefused{});
    return;
  }
  if (notice.kind == Kind::extended) {
    for (const auto& [id, client] : clients_)
      if (client.lock == notice.lock && client.inside)
        turn.out.notify(LockUpdate{
            .client = id, .kind = LockUpdate::Kind::extended, .deadline = notice.deadline});
    return;
  }
  const auto found = clients_.find(notice.client);
  if (found == clients_.end()) return;
  LockUpdate update{.client = notice.client};
  if (notice.kind == Kind::granted) {
    found->second.inside = true;
    found->second.since = turn.now;
    found->second.token = update.token = notice.token;
    update.deadline = notice.deadline;
    if (notice.origin != kNobody) update.origin = hosts_->host_of(notice.origin);
  } else {
    update.kind = notice.kind == Kind::lost ? LockUpdate::Kind::lost : LockUpdate::Kind::refused;
    if (notice.kind == Kind::busy) update.refusal = Refusal::held;
    update.lock = names_.name_of(notice.lock);
    clients_.erase(found);
  }
  turn.out.notify(update);
}

std::optional<LockId> LeaseService::number(Turn<LeaseService>& turn, std::string_view name) {
  return names_.number(name, [&](LockId id) {
    bool forgotten = false;
    step(turn, [&](Member& member, Turn<Member>& inner) { forgotten = member.forget(inner, id); });
    if (forgotten) holders_.erase(id);
    return forgotten;
  });
}

// A PASS names the next holder; only the holder extends a lease.
void LeaseService::learn_holder(NodeId sender, const lock::lease::Message& message) {
  using lock::lease::Kind;
  const bool passes = message.kind == Kind::pass;
  if (message.lock == lock::lease::kViewLock ||
      !(passes || ((message.kind == Kind::ask || message.kind == Kind::resume) && message.held)))
    return;
  Holder& last = holders_[message.lock];
  const lock::lease::Held held{message.ballot.count, passes ? message.sub : 0};
  if (passes ? held > last.held : held.count >= last.held.count)
    last = {std::max(held, last.held), passes ? message.target : sender};
}

std::optional<NodeId> LeaseService::named_holder(LockId id,
                                                 const lock::lease::Ballot& ballot) const {
  const auto found = holders_.find(id);
  if (found == holders_.end() || found->second.held.count != ballot.count) return std::nullopt;
  return found->second.member;
}

bool LeaseService::uses(BootTime now, std::string_view name) const {
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

bool LeaseService::may_have_promised(BootTime now) const {
  if (member_.state().abstain_until > now) return true;
  bool promised = false;
  names_.for_each([&](const std::string& /*name*/, LockId id) {
    const lock::lease::Lock* lock = member_.lock(id);
    if (lock == nullptr) return;
    promised |= (lock->lease() && lock->lease()->until > now) ||
                std::ranges::any_of(lock->grantor().promises(),
                                    [&](const auto& promise) { return promise.until > now; });
  });
  return promised;
}

// --- for users ---

std::vector<Known> LeaseService::known(BootTime now) const {
  std::vector<Known> all;
  names_.for_each([&](const std::string& name, LockId id) {
    const lock::lease::Lock* lock = member_.lock(id);
    if (lock == nullptr || lock->forgettable()) return;
    Known known;
    known.name = name;
    NodeId entered = kNobody;  // its last ASK announced the client that is now inside as a waiter
    if (const auto& lease = lock->lease(); lease && lease->until > now) {
      known.mode = lease->mode;
      known.holder = hosts_->host_of(member_.state().self);
      known.held_here = true;
      known.until = lease->until;
      known.token = lease->held().token();
    } else {
      for (const auto& promise : lock->grantor().promises()) {
        // A promise to itself is an attempt, not a lease: a majority of the voters has not agreed.
        const std::optional<NodeId> named = named_holder(id, promise.ballot);
        const NodeId holder = named.value_or(promise.ballot.origin);
        if (promise.until <= now || holder == member_.state().self) continue;
        entered = named ? kNobody : holder;
        known.mode = promise.mode;
        known.holder = hosts_->host_of(holder);
        known.until = promise.until;
      }
    }
    for (const auto& [number, client] : clients_)
      if (client.lock == id)
        known.clients.push_back({number, client.mode, client.inside, client.since, client.token});
    for (const lock::lease::Peer& peer : lock->peers().all()) {
      if (peer.fresh_until <= now) continue;
      bool inside = peer.member == entered;
      for (const lock::lease::Waiter& waiter : peer.waiting)
        if (!std::exchange(inside, false))
          known.elsewhere.push_back({hosts_->host_of(peer.member), waiter.mode, waiter.ticket});
    }
    all.push_back(std::move(known));
  });
  return all;
}

static_assert(Machine<LeaseService>);

}  // namespace tempo::locks
