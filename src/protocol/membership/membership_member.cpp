// The member: asks its master, grants its beacons and accepts its views.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "protocol/membership/membership.h"
#include "protocol/membership/membership_mutation.h"

namespace tempo::membership {

void Membership::follow(Turn<Membership>& turn, NodeId master) {
  if (role_ == Role::follows && master == master_) return;
  if (leads()) step_down(turn);
  role_ = master == kNobody ? Role::none : Role::follows;
  master_ = master;
  master_is_main_ = false;
  asks_.clear();  // a beacon of another master does not answer them
  granted_in_ = {};
  if (role_ == Role::follows)
    ask(turn);
  else
    timers_.stop(MembershipTimer::ask);
}

void Membership::ask(Turn<Membership>& turn) {
  last_ask_ = Sequence{std::to_underlying(last_ask_) + 1};
  asks_.push_newest({last_ask_, turn.now});
  Ask ask{.number = last_ask_,
          .self = record_.self,
          .participation = durable_.self == record_.self ? participation_ : Participation::guest,
          .promised = record_.promised,
          .view = record_.view,
          .since_main = since_main(turn.now)};
  if (durable_ == written_) {
    ask.ballot = granted_in_;
    ask.granted = granted_;
    ask.accepted_in = record_.accepted_in;
    ask.accepted = record_.accepted;
  }
  turn.out.send(master_, ask);
  timers_.set(MembershipTimer::ask, turn.now + rules_->interval);
}

void Membership::ask_soon(BootTime now) {
  const BootTime soon =
      asks_.empty() ? now : std::max(now, asks_[asks_.size() - 1].at + rules_->pause);
  timers_.set(MembershipTimer::ask, std::min(timers_.at(MembershipTimer::ask), soon));
}

bool Membership::grants(BootTime now, const Ballot& ballot) const {
  const bool running =
      now < grant_until_ && grant_in_.master != ballot.master && !mutated(Mutation::no_lease);
  const bool lower = ballot < record_.promised && !mutated(Mutation::lower_ballot);
  const bool votes = participation_ != Participation::guest && durable_.self == record_.self;
  return votes && ballot.round != 0 && !running && !lower && now >= abstains_until_;
}

// Whether a member of another lineage gives up its own and joins that of this beacon.
bool Membership::joins(BootTime now, const Beacon& beacon) const {
  if (beacon.main_for <= Nanos{0} || !beacon.view.known() || beacon.ballot.round == 0) return false;
  if (lineage_size() <= 1) return true;
  return long_without_main(now) && beacon.view.members.size() >= lineage_size();
}

void Membership::receive_beacon(Turn<Membership>& turn, NodeId from, const Beacon& beacon) {
  if (role_ != Role::follows || from != master_) return;
  const auto* const asked = std::ranges::find(asks_, beacon.asked, &Stamp::number);
  if (asked == asks_.end()) return;
  const BootTime asked_at = asked->at;
  const View& view = record_.view;
  if (lineage() != 0 && beacon.view.known() && lineage() != beacon.view.lineage) {
    if (!joins(turn.now, beacon)) return;
    become_newcomer(turn);
  }
  if (beacon.view.number > view.number) install(turn, beacon.view);
  if (beacon.main_for > Nanos{0}) {
    master_is_main_ = true;
    extend_main(asked_at + std::min(beacon.main_for, rules_->hold));
  }
  const bool granted = grants(turn.now, beacon.ballot);
  bool changed = false;
  if (granted) {
    changed = record_.promised != beacon.ballot;
    record_.promised = beacon.ballot;
    grant_in_ = beacon.ballot;
    grant_until_ = turn.now + rules_->keep;
    granted_in_ = beacon.ballot;
    granted_ = beacon.number;
  }
  if (beacon.proposes && (granted || mutated(Mutation::accept_ungranted)))
    changed |= accept(beacon);
  if (changed) persist(turn);
  if (beacon.urgent) ask_soon(turn.now);
}

// Accepts the proposal of a granted beacon. Returns whether the record changes.
bool Membership::accept(const Beacon& beacon) {
  const View& view = record_.view;
  const bool next = view.known() && beacon.proposal.lineage == view.lineage &&
                    beacon.proposal.number == view.number + 1;
  // A newcomer accepts its admission, so that it cannot be listed in two lineages.
  const bool admits = !view.has(record_.self) && beacon.proposal.has(record_.self) &&
                      beacon.proposal.number > view.number &&
                      (lineage() == 0 || beacon.proposal.lineage == lineage());
  if ((!next && !admits) || beacon.ballot < record_.accepted_in) return false;
  if (mutated(Mutation::install_accepted)) record_.view = beacon.proposal;
  const bool same = record_.accepted_in == beacon.ballot && record_.accepted == beacon.proposal;
  record_.accepted_in = beacon.ballot;
  record_.accepted = beacon.proposal;
  return !same;
}

}  // namespace tempo::membership
