// Resuming a grant after a restart of its daemon (doc/internals/lease.md, section 3).
//
// The idea: the voters' promises outlive the holder's daemon, so a majority of other voters can
// tell the restarted daemon that a client is still inside. While a lease is in use its holder
// registers the clients inside with the voters (ASK). After a restart the client comes back with
// its token and its session, and the daemon asks all voters to confirm them (RESUME). With a
// majority in favour, at least one of which knows the client, before the client's own deadline, the
// lease is the client's again. The restarted daemon does not know which other clients are inside,
// so a resumed lease serves nobody else.
#include <algorithm>
#include <utility>

#include "protocol/lock/lease/lease_lock.h"
#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::lock::lease {

// --- at the holder ---

// Clients inside that may resume; those beyond the limit of a message may not.
Insiders Lock::insiders() const {
  Insiders all;
  if (mutated(Mutation::clients_not_registered)) return all;
  for (const Client& client : clients_)
    if (client.inside && client.insider.session.number != 0 && !all.full())
      all.push_back(client.insider);
  return all;
}

void Lock::take_back(Scope& scope, const Command& command) {
  begin(scope);
  admit_returning(scope, command);
  resume_clients(scope);
  finish(scope);
}

// Only a daemon that abstains can have had an earlier incarnation whose grants still last. A
// deadline beyond the longest lease was never granted.
bool Lock::may_return(const Scope& scope, const Command& command) const {
  const BootTime now = scope.now();
  const Rules& rules = scope.rules();
  if (command.session.number == 0 || command.ballot.count == 0 || command.sub == 0) return false;
  if (command.deadline <= now || command.deadline - now > rules.longest) return false;
  if (scope.state.speaks(now) || scope.state.stopped() || attempt_) return false;
  if (clients_.size() + returning_.size() >= kMaxClients) return false;
  if (lease_ && (!lease_->resumed || lease_->ballot != command.ballot)) return false;
  if (lease_ && conflict(lease_->mode, command.mode)) return false;
  return std::ranges::all_of(returning_, [&](const Returning& other) {
    return other.ballot == command.ballot && !conflict(other.client.mode, command.mode);
  });
}

void Lock::admit_returning(Scope& scope, const Command& command) {
  if (known(command.client)) return;
  if (!may_return(scope, command)) {
    notify(scope, {.kind = Notice::Kind::lost, .client = command.client, .mode = command.mode});
    return;
  }
  const Rules& rules = scope.rules();
  returning_.push_back(
      {.client = {.id = command.client,
                  .mode = command.mode,
                  .length = command.length == Nanos{0} ? rules.lease
                                                       : std::min(command.length, rules.longest),
                  .insider = {command.sub, command.session}},
       .ballot = command.ballot,
       .deadline = command.deadline});
}

void Lock::forget_grant(std::uint32_t slot) {
  granted_until_[slot] = BootTime{};
  const auto others = static_cast<Voters>(~(1U << slot));
  for (Returning& client : returning_) {
    client.in_favour &= others;
    client.confirmed &= others;
  }
}

// Sends RESUME for clients whose turn it is.
void Lock::resume_clients(Scope& scope) {
  for (Returning& client : returning_) {
    if (!scope.state.running)
      client.again_at = kNever;  // `resume` continues
    else if (client.again_at <= scope.now())
      send_resume(scope, client);
  }
}

void Lock::drop_late_returns(Scope& scope) {
  if (mutated(Mutation::resumed_after_deadline)) return;
  std::erase_if(returning_, [&](const Returning& late) {
    if (late.deadline > scope.now()) return false;
    notify(scope, {.kind = Notice::Kind::lost, .client = late.client.id, .mode = late.client.mode});
    return true;
  });
  if (returning_.empty() && !lease_ && !attempt_) forget_grants();
}

void Lock::send_resume(Scope& scope, Returning& client) {
  client.again_at = scope.now() + scope.rules().renew_gap(client.client.length);
  Message message{.kind = Kind::resume,
                  .ballot = client.ballot,
                  .mode = client.client.mode,
                  .held = true,
                  .length = client.client.length,
                  .sub = client.client.insider.sub};
  message.inside.push_back(client.client.insider);
  multicast(scope, message);
}

void Lock::receive_resume_grant(Scope& scope, NodeId from, const Message& message) {
  const Sent* sent = std::ranges::find(sent_, message.to_k, &Sent::k);
  const auto slot = scope.state.view().slot_of(from);
  const auto client = std::ranges::find_if(returning_, [&](const Returning& one) {
    return one.ballot == message.ballot && one.client.insider.sub == message.sub;
  });
  if (sent == sent_.end() || !slot || client == returning_.end()) return;
  const BootTime asked = sent->until - scope.rules().lease;
  BootTime& until = granted_until_[*slot];
  until = std::max(until, asked + scope.rules().hold(sent->length));
  client->in_favour |= scope.state.view().bit_of(from);
  if (message.confirmed) client->confirmed |= scope.state.view().bit_of(from);
  settle_returned(scope, *client);
}

// The promises of the earlier incarnation last beyond the client's deadline, so the lease does too.
void Lock::settle_returned(Scope& scope, const Returning& settled) {
  const bool majority =
      scope.state.view().quorum(settled.in_favour) || mutated(Mutation::resumed_by_minority);
  if (!majority || !(settled.confirmed != 0 || mutated(Mutation::resumed_unconfirmed))) return;
  const Returning done = settled;
  std::erase_if(returning_, [&](const Returning& one) { return &one == &settled; });
  const BootTime until = std::max(valid(scope), done.deadline);
  if (!lease_) {
    lease_ =
        Lease{.ballot = done.ballot, .mode = done.client.mode, .until = until, .resumed = true};
    repeated_ = false;
    renew_at_ = BootTime{};
  }
  lease_->until = std::max(lease_->until, until);
  lease_->sub = std::max(lease_->sub, done.client.insider.sub);
  length_ = std::max(length_, done.client.length);
  seen_ = std::max(seen_, lease_->held());
  clients_.insert(clients_.begin(), done.client);  // before all that wait
  clients_.front().inside = true;
  notify(scope, {.kind = Notice::Kind::granted,
                 .client = done.client.id,
                 .mode = done.client.mode,
                 .token = Held{done.ballot.count, done.client.insider.sub}.token(),
                 .origin = done.ballot.origin,
                 .deadline = lease_->until});
}

// Readers that are not back yet may be inside until promises of the earlier incarnation end.
bool Lock::keeps_for_others(const Scope& scope) const {
  return lease_->resumed && lease_->mode == Mode::shared &&
         scope.now() < scope.state.abstain_until && !mutated(Mutation::resumed_readers_freed);
}

BootTime Lock::resume_due() const {
  BootTime first = kNever;
  for (const Returning& client : returning_)
    first = std::min({first, client.again_at,
                      mutated(Mutation::resumed_after_deadline) ? kNever : client.deadline});
  return first;
}

// --- at the voters ---

void Lock::receive_resume(Scope& scope, NodeId from, const Message& message) {
  peers_.learn(from, message, scope.now(), scope.rules(), pass_target());
  for (const Ballot& ballot : message.ends) grantor_.end(ballot);
  if (message.inside.empty()) return;
  if (yields_to(scope, from, message)) send_free(scope, give_up_attempt());
  MemberState& state = scope.state;
  if (!state.view().votes_for(scope.self()) || !state.speaks(scope.now())) return;
  if (message.ballot.count > top() && !reserve(scope, message.ballot.count)) return;
  const bool held_here = lease_ && lease_->ballot == message.ballot;
  bool confirmed = false;
  const Why why = held_here && !mutated(Mutation::resume_of_held)
                      ? Why::busy
                      : grantor_.resume({.ballot = message.ballot,
                                         .mode = message.mode,
                                         .length = message.length,
                                         .holder = from,
                                         .boot = message.boot,
                                         .client = message.inside.front()},
                                        scope.now(), scope.rules(), confirmed);
  scope.turn.out.send(from, {.kind = why == Why::none ? Kind::grant : Kind::refuse,
                             .lock = scope.lock,
                             .view = state.view().number,
                             .boot = state.boot,
                             .record = state.record_id,
                             .ballot = message.ballot,
                             .confirmed = confirmed,
                             .to_boot = message.boot,
                             .to_k = message.k,
                             .top = why == Why::none ? 0 : top(),
                             .why = why,
                             .sub = message.inside.front().sub,
                             .claims = why == Why::none ? state.claims : Claims{}});
  if (why == Why::none && message.mode == Mode::shared) decide_pending(scope);
}

}  // namespace tempo::lock::lease
