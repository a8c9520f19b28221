// The part of the node that leads: network time is its clock, steered along the scale that its
// members' reports make.
#include <algorithm>
#include <cmath>
#include <utility>

#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr Nanos kYoungRound = 1s;
constexpr double kRoundsToAverage = 16;  // in which a young network's rate comes to the average
constexpr double kUnheardSquare = 8;  // half the square of the seconds a member may not hear of it
constexpr Nanos kHandOver = 5s;       // in which all have heard of a new master
constexpr Nanos kDisgrace = 1min;
constexpr Nanos kVotes = 500ms;

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
  asked_ = {};
  contacts_left_ = burst_left_ = 0;
  owed_ = may_step_ = false;
  turn_of_rate_ = 0;
  members_.begin(turn.now, young);
  timers_.stop(Timer::probe);
  timers_.set(Timer::round, turn.now + (young ? kYoungRound : TimeScale::kRound));
  steer(turn, known ? take_over(turn.now, *known) : servo_.hold());
}

// Network time goes on as it was before the old master can have spoilt it. What our clock is off by
// is closed while all count in the hand-over; if that does not suffice, it goes on as it is.
clock::Steering Sync::take_over(Instant now, const clock::Holdover& known) {
  const WallTime shows = clock_.at(now);
  const Nanos gap = std::chrono::abs(known.line.at(now) - shows);
  if (in_seconds(gap) > clock::Servo::kMaxFrequency * in_seconds(kHandOver) / 2)
    return servo_.hold(-known.line.rate());
  held_bound_ += gap;
  const clock::Aim aim{.theta = raw_of(now) - known.line.at(now).time_since_epoch(),
                       .rate = -known.line.rate()};
  return servo_.steer(now, shows, aim, {});
}

// Answered whether we lead or not: a master of this network may follow one in another.
void Sync::on_probe(Turn<Sync>& turn, NodeId from, const Message& message) {
  if (message.sigma > Nanos{0}) {
    members_.report(turn.now, from,
                    {.offset = message.offset,
                     .rate_ppt = message.rate_ppt,
                     .error = message.sent,
                     .sigma = message.sigma,
                     .bound = message.bound,
                     .objects = message.objects,
                     .utc_gap = message.received,
                     .utc_bound = message.utc_bound});
    if (message.objects && leads_) count_votes(turn);
  }
  if (!leads_ && !corrected_) return;  // we have no network time to tell
  const Instant arrived = arrival(turn, message);
  const Reading now = reading(turn.now);
  turn.out.send(from, {.kind = Message::Kind::echo,
                       .will_follow = rules_->follow_ups && message.will_follow,
                       .exchange = message.exchange,
                       .timescale_generation = announced_generation(),
                       .received = raw_of(arrived),
                       .sent = raw_of(stamp(turn.now)),
                       .offset = clock_.at(arrived).time_since_epoch() - raw_of(arrived),
                       .rate_ppt = whole(clock_.rate()),
                       .bound = std::max(now.latest - now.time, now.time - now.earliest)});
}

void Sync::make_round(Turn<Sync>& turn) {
  if (members_.young(turn.now)) {
    const double average = members_.average_rate(turn.now, rules_->agreement);
    turn_of_rate_ = (average - base_rate()) / kRoundsToAverage;
    steer(turn, servo_.hold(-base_rate() - turn_of_rate_));
    timers_.set(Timer::round, turn.now + kYoungRound);
    return;
  }
  turn_of_rate_ = 0;
  const auto gap = utc_gap(turn.now, clock_.at(turn.now));
  const clock::Aim aim = members_.round(
      turn.now, clock_, servo_.rate(), gap.transform([&](Nanos by) -> clock::UtcClaim {
        return {.gap = in_seconds(by), .bound = in_seconds(utc_bound(turn.now))};
      }));
  clock::Steering steering =
      servo_.steer(turn.now, clock_.at(turn.now), aim,
                   {.period = TimeScale::kRound, .most_change = kMasterWander});
  steering.settles = Nanos{0};  // the next round comes before
  steer(turn, steering);
  timers_.set(Timer::round, turn.now + TimeScale::kRound);
}

void Sync::count_votes(Turn<Sync>& turn) {
  if (turn.now < next_vote_) return;
  next_vote_ = turn.now + kVotes;
  if (!members_.outvoted(turn.now)) return;
  next_vote_ = turn.now + kDisgrace;
  timers_.set(Timer::ban_expiry, turn.now + kDisgrace);
  turn.out.notify({.what = Notice::What::outvoted});
}

// How wrong the master's own reading may be: others may not have heard yet that it is the master,
// or how the rate of a young network turns.
Nanos Sync::doubt_of_master(Instant now) const {
  const double turning = std::abs(turn_of_rate_) * kUnheardSquare * 1e9;
  Nanos doubt{std::llround(turning)};
  if (held_bound_ > Nanos{0} && now - leads_since_ < kHandOver) doubt += held_bound_;
  return doubt;
}

}  // namespace tempo::node
