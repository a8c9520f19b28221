#include "protocol/lock/lock_service.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/check.h"

namespace tempo::locks {

using lock::Bootstrap;
using lock::lease::TwoNode;

namespace {

// Unset: more hosts than the directory can number.
std::optional<Bootstrap::VoterProposal> proposal_of(Bootstrap::Stage stage,
                                                    std::span<const HostId> voters,
                                                    wire::Directory& hosts) {
  Bootstrap::VoterProposal proposal{.stage = stage};
  for (const HostId voter : voters) {
    const NodeId node = hosts.number_of(voter);
    if (node == kNobody) return std::nullopt;
    proposal.voters.push_back(node);
  }
  return proposal;
}

}  // namespace

LockService::LockService(const Start& start)
    : start_(start),
      record_(start.record.value_or(LockRecord{.host = start.self})),
      rebooted_(start.record && start.record->kernel != start.kernel),
      bootstrap_({.self = start.hosts->number_of(start.self),
                  .expected = start.expected,
                  .saved = start.record ? proposal_of(record_.stage, record_.voters, *start.hosts)
                                        : std::nullopt,
                  .lost = start.record_lost}) {
  record_.kernel = start.kernel;
  start_.hosts->set_voters(record_.voters);
}

// --- inputs ---

void LockService::start(LockTurn& turn) {
  step(turn, bootstrap_, [](Bootstrap& part, Turn<Bootstrap>& inner) { part.start(inner); });
}

void LockService::receive(LockTurn& turn, NodeId from, const Message& message) {
  std::visit([&](const auto& body) { on_message(turn, from, body); }, message);
}

void LockService::on_message(LockTurn& turn, NodeId from, const wire::VoterSetBody& body) {
  const auto proposal = proposal_of(static_cast<Bootstrap::Stage>(body.stage),
                                    {body.voters.begin(), body.voters.end()}, *start_.hosts);
  if (!proposal) return;
  step(turn, bootstrap_,
       [&](Bootstrap& part, Turn<Bootstrap>& inner) { part.receive(inner, from, *proposal); });
}

void LockService::on_message(LockTurn& turn, NodeId from, const wire::LockBody& body) {
  if (!leases_) return;
  step(turn, *leases_,
       [&](LeaseService& part, Turn<LeaseService>& inner) { part.receive(inner, from, body); });
  advance_change(turn);
}

void LockService::on_message(LockTurn& turn, NodeId from,
                             const BoundedDelayLocks::Message& message) {
  if (!bounded_delay_) return;
  step(turn, *bounded_delay_, [&](BoundedDelayLocks& part, Turn<BoundedDelayLocks>& inner) {
    part.receive(inner, from, message);
  });
}

void LockService::command(LockTurn& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void LockService::on_command(LockTurn& turn, const Acquire& request) {
  if (const auto refusal = refusal_of(turn.now, request))
    turn.out.notify(LockUpdate{.client = request.client,
                               .kind = LockUpdate::Kind::refused,
                               .refusal = *refusal,
                               .lock = request.name});
  else if (request.kind == LockKind::lease)
    command_part(turn, *leases_, request);
  else
    command_part(turn, *bounded_delay_, request);
}

void LockService::on_command(LockTurn& turn, const Resume& request) {
  if (leases_)
    command_part(turn, *leases_, request);
  else
    turn.out.notify(LockUpdate{.client = request.client,
                               .kind = LockUpdate::Kind::refused,
                               .refusal = Refusal::no_voters,
                               .lock = request.name});
}

std::optional<Refusal> LockService::refusal_of(BootTime now, const Acquire& request) const {
  if (!leases_) return Refusal::no_voters;
  if (start_.policy == TwoNode::witness && start_.is_policy_host) return Refusal::witness;
  if (request.kind == LockKind::lease)
    return bounded_delay_->uses(now, request.name) ? std::optional(Refusal::used_as_silent)
                                                   : std::nullopt;
  if (leases_->uses(now, request.name)) return Refusal::used_as_lease;
  if (request.lease != Nanos{0}) return Refusal::lease_of_other_kind;
  return std::nullopt;
}

void LockService::on_command(LockTurn& turn, const Release& release) {
  if (!leases_) return;
  command_part(turn, *leases_, release);
  command_part(turn, *bounded_delay_, release);
}

// A host without a record may have received other voters before it wrote its first one.
void LockService::on_command(LockTurn& turn, const Persisted& persisted) {
  if (!leases_ || !persisted.record.lease) return;
  command_part(turn, *leases_, LeaseService::persisted(*persisted.record.lease));
  follow_voters(turn);
  advance_change(turn);
}

void LockService::on_timer(LockTurn& turn, TimerId /*timer*/) {
  wake(turn, bootstrap_);
  if (leases_) wake(turn, *leases_);
  if (bounded_delay_) wake(turn, *bounded_delay_);
  if (check_at_ <= turn.now) check_each_second(turn);
}

OneTimer<BootTime> LockService::timers() const {
  BootTime first = std::min(bootstrap_.timers().first(), check_at_);
  if (leases_) first = std::min(first, leases_->timers().first());
  if (bounded_delay_) first = std::min(first, bounded_delay_->timers().first());
  return OneTimer{first};
}

// --- the parts ---

LockService::Message LockService::message_of(const Bootstrap::VoterProposal& proposal) const {
  wire::VoterSetBody body{.stage = static_cast<wire::VoterSetBody::Stage>(proposal.stage)};
  for (const HostId voter : hosts_of(proposal.voters)) body.voters.push_back(voter);
  return body;
}

std::vector<HostId> LockService::hosts_of(const lock::VoterSet& voters) const {
  std::vector<HostId> hosts;
  for (const NodeId voter : voters) hosts.push_back(start_.hosts->host_of(voter));
  return hosts;
}

void LockService::persist(LockTurn& turn, const Bootstrap::VoterProposal& proposal) {
  record_.stage = proposal.stage;
  record_.voters = hosts_of(proposal.voters);
  start_.hosts->set_voters(record_.voters);
  // A record without a lease says that this host has never voted. After a lost one the first record
  // is that of the lease, which begins when this host knows how far the counts have gone.
  if (!start_.record_lost || record_.lease) turn.out.persist(record_);
}

void LockService::persist(LockTurn& turn, const Saved& saved) {
  record_.lease = saved;
  turn.out.persist(record_);
}

void LockService::on_notice(LockTurn& turn, const Bootstrap::Notice& notice) {
  if (notice.kind == Bootstrap::Notice::Kind::committed)
    on_committed(turn, notice.word);
  else if (!std::exchange(split_, true))
    turn.out.notify(Split{});
}

void LockService::on_committed(LockTurn& turn, const Bootstrap::VoterProposal& proposal) {
  const std::vector<HostId> voters = hosts_of(proposal.voters);
  if (record_.stage != LockRecord::Stage::committed) {
    // Learned from others: this host does not vote, and nothing depends on its record.
    record_.stage = LockRecord::Stage::committed;
    record_.voters = voters;
  }
  turn.out.notify(VotersAgreed{voters.size()});
  leases_.emplace(LeaseService::Start{.self = start_.self,
                                      .voters = voters,
                                      .hosts = start_.hosts,
                                      .rules = start_.rules,
                                      .saved = record_.lease,
                                      .lost = start_.record_lost,
                                      .available = start_.policy == TwoNode::available,
                                      .rebooted = rebooted_});
  bounded_delay_.emplace(BoundedDelayLocks::Start{.self = start_.self,
                                                  .life = start_.life,
                                                  .hosts = start_.hosts,
                                                  .lease = start_.rules,
                                                  .bounds = start_.bounds});
  step(turn, *leases_, [](LeaseService& part, Turn<LeaseService>& inner) { part.start(inner); });
  step(turn, *bounded_delay_,
       [](BoundedDelayLocks& part, Turn<BoundedDelayLocks>& inner) { part.start(inner); });
  follow_voters(turn);
  if (start_.policy == TwoNode::preferred && start_.is_policy_host) check_at_ = turn.now + 1s;
}

void LockService::on_notice(LockTurn& turn, const LeaseService::Notice& notice) {
  std::visit([&](const auto& one) { on_notice(turn, one); }, notice);
}

void LockService::on_notice(LockTurn& turn, const LockUpdate& update) { turn.out.notify(update); }

const char* LockService::check() const {
  if (const char* broken = bootstrap_.check()) return broken;
  if (!leases_) return nullptr;
  if (const char* broken = leases_->check()) return broken;
  return bounded_delay_->check();
}

// --- for users ---

std::vector<Known> LockService::known(BootTime now) const {
  if (!leases_) return {};
  std::vector<Known> all = leases_->known(now);
  std::ranges::move(bounded_delay_->known(), std::back_inserter(all));
  return all;
}

std::uint8_t LockService::votes_of(HostId host) const {
  const lock::lease::View& view = leases_->view();
  for (std::size_t i = 0; i < view.votes.size(); ++i)
    if (view.votes[i] > 0 && start_.hosts->host_of(view.slots[i]) == host) return view.votes[i];
  return 0;
}

static_assert(Machine<LockService>);

}  // namespace tempo::locks
