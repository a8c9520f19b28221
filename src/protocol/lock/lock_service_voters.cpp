// Changes of the voters: what an operator requests, and the second vote of a preferred machine.
#include <algorithm>
#include <vector>

#include "protocol/lock/lock_service.h"

namespace tempo::locks {

using lock::Bootstrap;
using lock::lease::TwoNode;
using lock::lease::View;

void LockService::on_command(LockTurn& turn, const ChangeVoters& wanted) {
  if (const ChangeOutcome outcome = possible(wanted); outcome != ChangeOutcome::done)
    return turn.out.notify(
        ChangeEnded{.number = wanted.number, .host = wanted.host, .outcome = outcome});
  command_part(turn, *leases_, LeaseService::GiveUpChange{});  // its own change can wait
  change_ = Change{.wanted = wanted,
                   .takes_part = !wanted.votes || wanted.host == start_.self,
                   .until = change_deadline(turn.now)};
  check_at_ = std::min(check_at_, turn.now + 1s);
  if (!change_->takes_part) command_part(turn, *leases_, LeaseService::AskRecord{wanted.host});
  advance_change(turn);
}

// --- the first voters ---

// Two rounds of messages and a write, after all of them have heard each other.
static constexpr Nanos kNomination = 10s;

void LockService::on_command(LockTurn& turn, const NominateVoters& wanted) {
  Nomination nomination{.number = wanted.number, .until = turn.now + kNomination};
  for (const HostId host : wanted.hosts) {
    const NodeId node = start_.hosts->number_of(host);
    if (node != kNobody && nomination.voters.size() < lock::kMaxVoterSet &&
        !lock::among(nomination.voters, node))
      nomination.voters.push_back(node);
  }
  std::ranges::sort(nomination.voters);
  const bool valid = nomination.voters.size() == wanted.hosts.size() &&
                     lock::among(nomination.voters, start_.hosts->number_of(start_.self));
  if (valid && !nomination_ && idle() && !stands_aside() && !retired_) {
    nomination_ = nomination;
    check_at_ = std::min(check_at_, turn.now + 1s);
    return command_part(turn, bootstrap_, Bootstrap::Nominate{nomination.voters});
  }
  turn.out.notify(
      ChangeEnded{.number = wanted.number,
                  .outcome = nomination_ ? ChangeOutcome::busy : ChangeOutcome::not_running});
}

void LockService::abandon_nomination(LockTurn& turn, ChangeOutcome outcome) {
  command_part(turn, bootstrap_, Bootstrap::Abandon{});
  end_nomination(turn, outcome);
}

void LockService::end_nomination(LockTurn& turn, ChangeOutcome outcome) {
  turn.out.notify(ChangeEnded{.number = nomination_->number, .outcome = outcome});
  nomination_.reset();
}

// --- changes ---

void LockService::on_command(LockTurn& turn, const CancelChange& cancel) {
  if (nomination_ && nomination_->number == cancel.number)
    abandon_nomination(turn, ChangeOutcome::withdrawn);
  if (change_ && change_->wanted.number == cancel.number)
    give_up_change(turn, ChangeOutcome::withdrawn);
}

// Done: it is possible, as far as this host knows.
ChangeOutcome LockService::possible(const ChangeVoters& wanted) const {
  if (!running()) return ChangeOutcome::not_running;
  if (change_) return ChangeOutcome::busy;
  const View& view = leases_->view();
  if (view.available) return ChangeOutcome::available;
  const bool has_vote = votes_of(wanted.host) > 0;
  if (wanted.votes && has_vote) return ChangeOutcome::already;
  if (wanted.votes && std::ranges::count(view.slots, kNobody) == 0) return ChangeOutcome::full;
  if (wanted.votes || !has_vote) return ChangeOutcome::done;
  if (std::ranges::count(view.votes, 0) + 1 == std::ssize(view.votes)) return ChangeOutcome::last;
  const wire::Directory::Host* host = start_.hosts->find(wanted.host);
  if (start_.policy == TwoNode::preferred && host != nullptr &&
      host->name.text() == start_.policy_host)
    return ChangeOutcome::preferred;
  return ChangeOutcome::done;
}

// The deadline allows for a lease per view and for repeated requests.
BootTime LockService::change_deadline(BootTime now) const {
  return now + 5 * start_.rules.longest + 1s;
}

// One vote is added or removed at a time: the next step starts when the last is done.
void LockService::advance_change(LockTurn& turn) {
  if (!change_) return;
  const ChangeVoters& wanted = change_->wanted;
  const std::uint8_t has = votes_of(wanted.host);
  if ((has > 0) == wanted.votes) return end_change(turn, ChangeOutcome::done);
  if (turn.now >= change_->until)
    return give_up_change(
        turn, change_->takes_part ? ChangeOutcome::no_majority : ChangeOutcome::no_answer);
  // While a step is in progress, the leases refuse this without effect.
  if (change_->takes_part)
    command_part(turn, *leases_,
                 LeaseService::ChangeVotes{
                     wanted.host, static_cast<std::uint8_t>(wanted.votes ? has + 1 : has - 1)});
}

void LockService::give_up_change(LockTurn& turn, ChangeOutcome outcome) {
  command_part(turn, *leases_, LeaseService::GiveUpChange{});
  end_change(turn, outcome);
}

void LockService::end_change(LockTurn& turn, ChangeOutcome outcome) {
  turn.out.notify(ChangeEnded{
      .number = change_->wanted.number, .host = change_->wanted.host, .outcome = outcome});
  change_.reset();
}

void LockService::check_each_second(LockTurn& turn) {
  if (nomination_ && turn.now >= nomination_->until)
    abandon_nomination(turn, ChangeOutcome::no_answer);
  if (leases_) prefer(turn);
  advance_change(turn);
  // Question or answer may have been lost.
  if (change_ && !change_->takes_part)
    command_part(turn, *leases_, LeaseService::AskRecord{change_->wanted.host});
  const bool prefers = start_.policy == TwoNode::preferred && start_.is_policy_host;
  check_at_ = change_ || nomination_ || prefers ? turn.now + 1s : kNever;
}

void LockService::follow_voters(LockTurn& turn) {
  std::vector<HostId> voters;
  for (const NodeId voter : leases_->view().slots)
    if (voter != kNobody) voters.push_back(start_.hosts->host_of(voter));
  start_.hosts->set_voters(voters);
  command_part(turn, *bounded_delay_,
               BoundedDelayLocks::Follow{voters_of(leases_->view(), *start_.hosts)});
}

void LockService::on_notice(LockTurn& turn, const LeaseService::VotersChanged& /*changed*/) {
  follow_voters(turn);
  turn.out.notify(VotersChanged{});
  if (change_) change_->until = change_deadline(turn.now);
}

void LockService::on_notice(LockTurn& /*turn*/, const LeaseService::ChangeRefused& /*refused*/) {}

void LockService::on_notice(LockTurn& turn, const LeaseService::TakesPart& part) {
  if (!change_ || change_->takes_part || part.host != change_->wanted.host) return;
  change_->takes_part = true;
  change_->until = change_deadline(turn.now);
}

// The preferred of two machines has two votes. It takes the second one itself as soon as both are
// voters.
void LockService::prefer(LockTurn& turn) {
  if (start_.policy != TwoNode::preferred || !start_.is_policy_host || change_) return;
  if (std::ranges::count(leases_->view().votes, 1) != 2 || votes_of(start_.self) != 1 ||
      !serves(turn.now))
    return;
  command_part(turn, *leases_, LeaseService::ChangeVotes{start_.self, 2});
}

}  // namespace tempo::locks
