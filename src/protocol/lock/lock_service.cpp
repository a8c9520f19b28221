#include "protocol/lock/lock_service.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/fnv.h"

namespace tempo::locks {

using lock::Bootstrap;
using lock::lease::TwoNode;

namespace {

constexpr Nanos kAnnounce = 10s;         // between two announcements of a voter
constexpr Nanos kCloneHeard = 60s;       // a host with a clone does not count after a sign
constexpr Nanos kHeard = 3 * kAnnounce;  // a set that was heard counts as present for this time

// Unset: more hosts than the directory can number.
std::optional<Bootstrap::VoterProposal> proposal_of(Bootstrap::Stage stage, std::uint64_t number,
                                                    std::span<const HostId> voters,
                                                    wire::Directory& hosts) {
  Bootstrap::VoterProposal proposal{.stage = stage, .number = number};
  for (const HostId voter : voters) {
    const NodeId node = hosts.number_of(voter);
    if (node == kNobody) return std::nullopt;
    proposal.voters.push_back(node);
  }
  return proposal;
}

wire::SetId id_of(std::span<const HostId> voters, std::uint64_t number) {
  std::vector<std::byte> bytes;
  const auto add = [&](std::uint64_t part) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(part >> 8 * i));
  };
  add(number);
  for (const HostId voter : voters) add(std::to_underlying(voter));
  return wire::SetId{std::max<std::uint64_t>(fnv1a(bytes), 1)};
}

// More machines could agree on two sets of voters. Named voters are exactly these, and those of a
// nomination too.
std::size_t most_members(std::uint8_t expected, const std::vector<std::string>& named) {
  if (expected == 0) return Bootstrap::kMaxOthers + 1;
  return named.empty() ? 2 * std::size_t{expected} - 1 : named.size();
}

}  // namespace

LockService::LockService(const Start& start)
    : start_(start),
      record_(start.record.value_or(LockRecord{.host = start.self})),
      rebooted_(start.record && start.record->kernel != start.kernel),
      bootstrap_({.self = start.hosts->number_of(start.self),
                  .expected = start.expected,
                  .saved = start.record ? proposal_of(record_.stage, record_.number, record_.voters,
                                                      *start.hosts)
                                        : std::nullopt,
                  .aside = start.record_lost || !named(start.self),
                  .most = most_members(start.expected, start.named)}) {
  record_.kernel = start.kernel;
  record_.place = start.place;
  start_.hosts->set_voters(record_.voters);
}

// --- inputs ---

void LockService::start(LockTurn& turn) {
  started_ = turn.now;
  step(turn, bootstrap_, [](Bootstrap& part, Turn<Bootstrap>& inner) { part.start(inner); });
}

void LockService::receive(LockTurn& turn, NodeId from, const Message& message) {
  if (cloned(turn, from)) return;
  std::visit([&](const auto& body) { on_message(turn, from, body); }, message);
}

void LockService::on_message(LockTurn& turn, NodeId from, const wire::VoterSetBody& body) {
  auto proposal = proposal_of(static_cast<Bootstrap::Stage>(body.stage), body.number,
                              {body.voters.begin(), body.voters.end()}, *start_.hosts);
  if (!proposal) return;
  // A host that is not named only asks.
  if (proposal->stage != Bootstrap::Stage::committed && !named(start_.hosts->host_of(from)))
    *proposal = {};
  step(turn, bootstrap_,
       [&](Bootstrap& part, Turn<Bootstrap>& inner) { part.receive(inner, from, *proposal); });
}

void LockService::on_message(LockTurn& turn, NodeId from, const wire::LockBody& body) {
  if (!leases_) return;
  if (body.set_id != set_id_) return note_other_set(turn, from);
  step(turn, *leases_,
       [&](LeaseService& part, Turn<LeaseService>& inner) { part.receive(inner, from, body); });
  advance_change(turn);
}

void LockService::on_message(LockTurn& turn, NodeId from,
                             const BoundedDelayLocks::Message& message) {
  if (!bounded_delay_) return;
  const wire::SetId id = std::visit([](const auto& body) { return body.set_id; }, message.body);
  if (id != set_id_) return note_other_set(turn, from);
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

void LockService::on_command(LockTurn& turn, const Retire& /*retire*/) {
  retired_ = true;
  if (leases_) command_part(turn, *leases_, LeaseService::Retire{});
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
  if (announce_at_ > turn.now) return;
  announce_at_ = turn.now + kAnnounce;
  if (votes_of(start_.self) > 0 && !retired_) turn.out.broadcast(message_of(bootstrap_.word()));
}

OneTimer<BootTime> LockService::timers() const {
  BootTime first = std::min({bootstrap_.timers().first(), check_at_, announce_at_});
  if (leases_) first = std::min(first, leases_->timers().first());
  if (bounded_delay_) first = std::min(first, bounded_delay_->timers().first());
  return OneTimer{first};
}

// --- the parts ---

LockService::Message LockService::message_of(const Bootstrap::VoterProposal& proposal) const {
  wire::VoterSetBody body{.stage = static_cast<wire::VoterSetBody::Stage>(proposal.stage),
                          .number = proposal.number};
  for (const HostId voter : hosts_of(proposal.voters)) body.voters.push_back(voter);
  return body;
}

LockService::Message LockService::message_of(wire::LockBody body) const {
  body.set_id = set_id_;
  return body;
}

LockService::Message LockService::message_of(BoundedDelayLocks::Message message) const {
  std::visit([&](auto& body) { body.set_id = set_id_; }, message.body);
  return message;
}

std::vector<HostId> LockService::hosts_of(const lock::VoterSet& voters) const {
  std::vector<HostId> hosts;
  for (const NodeId voter : voters) hosts.push_back(start_.hosts->host_of(voter));
  return hosts;
}

void LockService::persist(LockTurn& turn, const Bootstrap::VoterProposal& proposal) {
  record_.stage = proposal.stage;
  record_.number = proposal.number;
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
  else
    note_other_set(turn, notice.from);
}

void LockService::note_other_set(LockTurn& turn, NodeId from) {
  const bool known = other_set(turn.now) != kNoHost;
  other_set_ = start_.hosts->host_of(from);
  other_set_until_ = turn.now + kHeard;
  if (!known) turn.out.notify(TwoSets{other_set_});
}

// Whether two machines have the identity of this host. Its messages are of one or the other.
bool LockService::cloned(LockTurn& turn, NodeId from) {
  const wire::Directory::Host* const host = std::as_const(*start_.hosts).find(from);
  if (host == nullptr || host->returns == 0) return false;
  auto* known = std::ranges::find(clones_, from, &Clone::host);
  if (known == clones_.end()) {
    clones_.push_newest({.host = from});
    known = clones_.end() - 1;
  }
  if (known->returns != host->returns) {
    if (known->until <= turn.now) turn.out.notify(CloneHeard{host->id});
    known->returns = host->returns;
    known->until = turn.now + kCloneHeard;
  }
  return turn.now < known->until;
}

HostId LockService::clone(BootTime now) const {
  for (const Clone& clone : clones_)
    if (now < clone.until) return start_.hosts->host_of(clone.host);
  return kNoHost;
}

bool LockService::named(HostId host) const {
  if (start_.named.empty()) return true;
  const wire::Directory::Host* known = start_.hosts->find(host);
  const std::string id = fmt::format("{:016x}", std::to_underlying(host));
  return std::ranges::any_of(start_.named, [&](const std::string& name) {
    return name == id || (known != nullptr && known->name.text() == name);
  });
}

void LockService::on_committed(LockTurn& turn, const Bootstrap::VoterProposal& proposal) {
  const std::vector<HostId> voters = hosts_of(proposal.voters);
  if (record_.stage != LockRecord::Stage::committed) {
    // Learned from others: this host does not vote, and nothing depends on its record.
    record_.stage = LockRecord::Stage::committed;
    record_.number = proposal.number;
    record_.voters = voters;
  }
  set_id_ = id_of(voters, proposal.number);
  announce_at_ = turn.now + kAnnounce;
  turn.out.notify(VotersAgreed{voters.size()});
  if (nomination_)
    end_nomination(turn, nomination_->voters == proposal.voters ? ChangeOutcome::done
                                                                : ChangeOutcome::already);
  leases_.emplace(LeaseService::Start{
      .self = start_.self,
      .voters = voters,
      .hosts = start_.hosts,
      .rules = start_.rules,
      .saved = record_.lease,
      .lost = start_.record_lost,
      .first =
          std::max({std::to_underlying(set_id_) % start_.beginnings, start_.above, record_.above}),
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
  if (retired_) command_part(turn, *leases_, LeaseService::Retire{});
  if (start_.policy == TwoNode::preferred && start_.is_policy_host) check_at_ = turn.now + 1s;
}

void LockService::on_notice(LockTurn& turn, const LeaseService::Notice& notice) {
  std::visit([&](const auto& one) { on_notice(turn, one); }, notice);
}

void LockService::on_notice(LockTurn& turn, const LockUpdate& update) { turn.out.notify(update); }

// A record with another place is not used again.
void LockService::on_notice(LockTurn& turn, const LeaseService::Retired& /*retired*/) {
  retired_ = true;
  record_.place = kNowhere;
  turn.out.persist(record_);
  turn.out.notify(Retired{});
}

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
