// The leader's part: its clock is network time, steered along the time scale that the members'
// reports produce.
#include <algorithm>
#include <cmath>
#include <utility>

#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr Nanos kYoungRound = 1s;
constexpr double kRoundsToAverage = 16;  // until a young network's rate reaches the average
constexpr double kUnseenSquare = 8;      // s^2 / 2; s: seconds that a member may miss a change
constexpr Nanos kHandover = 5s;          // until all members know of a new master
constexpr Nanos kBan = 1min;             // an outvoted master may not lead for this long
constexpr Nanos kVoteInterval = 500ms;   // between two counts of the votes

}  // namespace

void Sync::lead(Turn<Sync>& turn) {
  if (leads_) return;
  const bool young = !corrected_ && held_bound_ < Nanos{0};
  if (corrected_) {
    const Reading before = reading(turn.now);
    held_since_ = turn.now;
    held_bound_ = std::max(before.latest - before.time, before.time - before.earliest);
  }
  hold(turn.now);
  const std::optional<clock::Holdover> known = std::exchange(held_, std::nullopt);
  leads_ = true;
  leads_since_ = turn.now;
  reference_ = kNobody;
  estimator_.reset();
  pending_ = {};
  contacts_left_ = burst_left_ = 0;
  correction_due_ = may_step_ = false;
  rate_change_ = 0;
  members_.begin(turn.now, young);
  timers_.stop(Timer::probe);
  timers_.set(Timer::round, turn.now + (young ? kYoungRound : TimeScale::kRound));
  steer(turn, known ? take_over(turn.now, *known) : servo_.hold());
}

// Continues network time as it was before the old master can have gone wrong. The servo closes our
// clock's gap to it while all bounds allow for the handover; a larger gap stays.
clock::Steering Sync::take_over(Instant now, const clock::Holdover& known) {
  const WallTime shows = clock_.at(now);
  const Nanos gap = std::chrono::abs(known.line.at(now) - shows);
  if (in_seconds(gap) > clock::Servo::kMaxFrequency * in_seconds(kHandover) / 2)
    return servo_.hold(-known.line.rate());
  held_bound_ += gap;
  const clock::Aim aim{.theta = raw_of(now) - known.line.at(now).time_since_epoch(),
                       .rate = -known.line.rate()};
  return servo_.steer(now, shows, aim, {});
}

// Followers answer probes too: a master of this network may follow a master in another.
void Sync::on_message(Turn<Sync>& turn, NodeId from, const Probe& probe) {
  if (probe.report.sigma > Nanos{0}) {
    members_.report(turn.now, from, probe.report);
    if (probe.report.objects && leads_) count_votes(turn);
  }
  if (!leads_ && !corrected_) return;  // this node has no network time yet
  const Instant arrived = arrival(turn.now, probe.arrived);
  const Reading now = reading(turn.now);
  turn.out.send(from, Echo{.exchange = probe.exchange,
                           .follow_up_comes = rules_->follow_ups && probe.wants_follow_up,
                           .timescale_generation = announced_generation(),
                           .received = raw_of(arrived),
                           .sent = raw_of(stamp(turn.now)),
                           .offset = clock_.at(arrived).time_since_epoch() - raw_of(arrived),
                           .rate_ppt = to_ppt(clock_.rate()),
                           .bound = std::max(now.latest - now.time, now.time - now.earliest)});
}

void Sync::make_round(Turn<Sync>& turn) {
  if (members_.young(turn.now)) {
    const double average = members_.average_rate(turn.now, rules_->agreement);
    rate_change_ = (average - base_rate()) / kRoundsToAverage;
    steer(turn, servo_.hold(-base_rate() - rate_change_));
    timers_.set(Timer::round, turn.now + kYoungRound);
    return;
  }
  rate_change_ = 0;
  const auto gap = utc_gap(turn.now, clock_.at(turn.now));
  const clock::Aim aim = members_.round(
      turn.now, clock_, servo_.rate(), gap.transform([&](Nanos by) -> clock::UtcClaim {
        return {.gap = in_seconds(by), .bound = in_seconds(utc_bound(turn.now))};
      }));
  clock::Steering steering =
      servo_.steer(turn.now, clock_.at(turn.now), aim,
                   {.period = TimeScale::kRound, .most_change = kMasterWander});
  steering.settles = Nanos{0};  // the next round comes earlier
  steer(turn, steering);
  timers_.set(Timer::round, turn.now + TimeScale::kRound);
}

void Sync::count_votes(Turn<Sync>& turn) {
  if (turn.now < next_vote_) return;
  next_vote_ = turn.now + kVoteInterval;
  if (!members_.outvoted(turn.now)) return;
  next_vote_ = turn.now + kBan;
  timers_.set(Timer::ban_expiry, turn.now + kBan);
  turn.out.notify(Outvoted{});
}

// Error bound of the master's own reading: members may not know yet that it is the master, or how
// the rate of a young network changes.
Nanos Sync::master_bound(Instant now) const {
  const double unseen = std::abs(rate_change_) * kUnseenSquare * 1e9;
  Nanos doubt{std::llround(unseen)};
  if (held_bound_ > Nanos{0} && now - leads_since_ < kHandover) doubt += held_bound_;
  return doubt;
}

}  // namespace tempo::node
