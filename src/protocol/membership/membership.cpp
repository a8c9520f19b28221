#include "protocol/membership/membership.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "machine/overloaded.h"
#include "protocol/membership/membership_mutation.h"

namespace tempo::membership {

Rules rules_for(Nanos lease, double drift, Nanos grain) {
  const Nanos margin{std::llround(static_cast<double>(lease.count()) * drift)};
  return {.keep = lease + margin + grain, .hold = lease - margin - grain};
}

Membership::Membership(const Start& start, const Rules& rules)
    : rules_(&rules),
      participation_(start.participation),
      record_(start.record.value_or(Record{start.fresh})) {
  CHECK(record_.self != kNoMember && rules.hold > Nanos{0});
  if (start.record) durable_ = written_ = record_;
  last_ask_ = start.first;
}

void Membership::start(Turn<Membership>& turn) {
  if (durable_.self == kNoMember) return persist(turn);
  if (!mutated(Mutation::no_abstention)) abstains_until_ = turn.now + rules_->keep;
  // A machine that was dropped, or that led a view without being in it, is a newcomer.
  if (record_.view.known() && !record_.view.has(record_.self)) become_newcomer(turn);
}

void Membership::receive(Turn<Membership>& turn, NodeId from, const Message& message) {
  std::visit(
      Overloaded{[&](const Ask& ask) { receive_ask(turn, from, ask); },
                 [&](const Beacon& beacon) { receive_beacon(turn, from, beacon); },
                 [&](const Release& release) {
                   if (release.ballot.master == grant_in_.master && grant_in_ <= release.ballot)
                     grant_until_ = std::min(grant_until_, turn.now);
                 }},
      message);
}

void Membership::on_timer(Turn<Membership>& turn, TimerId timer) {
  if (!timers_.take_due(timer, turn.now)) return;
  switch (static_cast<MembershipTimer>(timer)) {
    case MembershipTimer::ask:
      if (role_ == Role::follows) ask(turn);
      break;
    case MembershipTimer::lead:
      if (!leads()) break;
      timers_.set(MembershipTimer::lead, turn.now + rules_->interval);
      found_if_none(turn);
      advance(turn);
      break;
    case MembershipTimer::expiry:
      if (leads()) advance(turn);
      break;
    case MembershipTimer::count:
      CHECK(false);
  }
}

void Membership::command(Turn<Membership>& turn, const Command& command) {
  std::visit(Overloaded{[&](const Lead&) {
                          if (!leads()) lead(turn);
                        },
                        [&](const Follow& to) { follow(turn, to.master); },
                        [&](const Stop&) { follow(turn, kNobody); },
                        [&](const Leave&) { participation_ = Participation::leaving; },
                        [&](const NewLineage&) { new_lineage(turn); },
                        [&](const BeginGeneration&) {
                          begins_generation_ = main(turn.now);
                          if (leads()) advance(turn);
                        },
                        [&](const Persisted& one) { on_persisted(turn, one.record); }},
             command);
}

void Membership::persist(Turn<Membership>& turn) {
  Record record = record_;
  if (mutated(Mutation::promise_in_memory)) record.promised = durable_.promised;
  if (mutated(Mutation::accept_in_memory)) record.accepted_in = {};
  written_ = record;
  turn.out.persist(record);
}

void Membership::on_persisted(Turn<Membership>& turn, const Record& record) {
  durable_ = record;
  if (leads())
    advance(turn);
  else if (role_ == Role::follows && granted_in_.round != 0)
    ask_soon(turn.now);
}

// Installs an agreed view that is newer than the present one.
void Membership::install(Turn<Membership>& turn, const View& view) {
  const bool was_member = record_.view.has(record_.self);
  if (!view.has(record_.self) && !leads()) {
    if (was_member) become_newcomer(turn);
    return;
  }
  record_.view = view;
  if (record_.accepted.lineage != view.lineage || record_.accepted.number <= view.number) {
    record_.accepted_in = {};
    record_.accepted = {};
  }
  persist(turn);
  turn.out.notify({Notice::Kind::installed});
}

void Membership::become_newcomer(Turn<Membership>& turn) {
  give_up_record(turn);
  persist(turn);
  turn.out.notify({Notice::Kind::dissolved});
}

// The next record is that of another member: this machine forgets what it has accepted, so it must
// not vote again in the views of this one. The promise stays: ballots are compared across lineages.
void Membership::give_up_record(Turn<Membership>& turn) {
  founded_ = kNever;
  if (lineage() != 0 && !mutated(Mutation::newcomer_keeps_number))
    record_.self = MemberId{turn.draw.below(std::uint64_t{1} << 62) + 1};
  record_.view = {};
  record_.accepted_in = {};
  record_.accepted = {};
}

std::uint64_t Membership::lineage() const {
  if (record_.view.known()) return record_.view.lineage;
  return record_.accepted_in.round != 0 ? record_.accepted.lineage : 0;
}

std::size_t Membership::lineage_size() const {
  return std::max(view_size(),
                  record_.accepted_in.round != 0 ? record_.accepted.members.size() : 0);
}

void Membership::extend_main(BootTime until) {
  main_until_ = std::max(main_until_, until);
  last_main_ = std::max(last_main_, until);
  timers_.set(MembershipTimer::expiry, main_until_);
}

// A master that gives up is not main from then on; its grants are free for the next one. Those of a
// young incarnation may have been given to an earlier one, whose main part may last.
void Membership::step_down(Turn<Membership>& turn) {
  const bool was_main = main(turn.now);
  main_until_ = std::min(main_until_, turn.now);
  settled_ = begins_generation_ = false;
  generation_at_ = kNever;
  proposal_.reset();
  timers_.stop(MembershipTimer::lead);
  timers_.stop(MembershipTimer::expiry);
  for (const Peer& peer : peers_)
    if (peer.prepared.master == record_.self && turn.now >= abstains_until_)
      turn.out.send(peer.node, Release{ballot_});
  peers_.clear();
  if (was_main) turn.out.notify({Notice::Kind::not_main});
}

const char* Membership::check() const {
  if (record_.self == kNoMember) return "a member without a number";
  if (record_.accepted_in > record_.promised) return "accepted under a ballot it has not promised";
  if (record_.accepted_in.round != 0 && record_.accepted.lineage == record_.view.lineage &&
      record_.accepted.number <= record_.view.number)
    return "an accepted view that is older than the view";
  if (leads() && master_ != kNobody) return "a master that follows";
  if (settled_ && !leads()) return "settled and no master";
  if (proposal_ && proposal_->number != record_.view.number + 1)
    return "a proposal that is not the next view";
  return nullptr;
}

}  // namespace tempo::membership
