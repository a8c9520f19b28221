#include "protocol/sync/leader.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "protocol/sync/held_time.h"
#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr Nanos kYoungRound = 1s;
constexpr double kRoundsToAverage = 16;  // until a young network's rate reaches the average
constexpr double kUnseenSquare = 8;      // s^2 / 2; s: seconds that a member may miss a change
constexpr Nanos kHandover = 5s;          // until all members know of a new master
constexpr Nanos kBan = 1min;             // an outvoted master may not lead for this long
constexpr Nanos kVoteInterval = 500ms;   // between two counts of the votes
constexpr double kSigma = 0.1e-6;        // seconds; least error of network time at its successor
constexpr double kSpan = 64;             // seconds; longest span of the successor's measurements

}  // namespace

void Leader::begin(SyncStep& step, bool young, const std::optional<clock::Holdover>& known,
                   Nanos bound) {
  leads_ = true;
  since_ = step.now();
  handover_bound_ = bound;
  rate_change_ = 0;
  members_.begin(step.now(), young);
  step.timers.set(SyncTimer::round, step.now() + (young ? kYoungRound : TimeScale::kRound));
  step.steer(known ? take_over(step, *known) : step.clock.servo.hold());
}

// The servo closes our clock's gap to network time while all bounds allow for the handover; a
// larger gap stays.
clock::Steering Leader::take_over(const SyncStep& step, const clock::Holdover& known) {
  const WallTime network = known.line.at(step.now());
  const Nanos gap = std::chrono::abs(network - step.shows());
  if (in_seconds(gap) > clock::Servo::kMaxFrequency * in_seconds(kHandover) / 2)
    return step.clock.servo.hold(-known.line.rate());
  handover_bound_ += gap;
  const clock::Aim aim{.theta = raw_of(step.now()) - network.time_since_epoch(),
                       .rate = -known.line.rate()};
  return step.clock.servo.steer(step.now(), step.shows(), aim, {});
}

std::optional<clock::Holdover> Leader::end(SyncStep& step) {
  std::optional<clock::Holdover> own;
  if (const auto worst = members_.worst(step.now());
      worst && leads_ && !members_.young(step.now())) {
    own = {.line = step.clock.steered,
           .since = step.now(),
           .sigma = std::max(worst->sigma, kSigma),
           .span = std::min(worst->span, kSpan),
           .bound = worst->bound,
           .drift = worst->rate_known ? kHeldWander + step.rules.rate_jump : kUnknownRate};
    own->line.set_rate(step.now(), -step.clock.servo.rate());
  }
  leads_ = false;
  members_.end();
  step.timers.stop(SyncTimer::round);
  return own;
}

void Leader::on_report(SyncStep& step, NodeId from, const Report& report) {
  if (report.sigma <= Nanos{0}) return;
  members_.report(step.now(), from, report);
  if (report.objects && leads_) count_votes(step);
}

void Leader::count_votes(SyncStep& step) {
  if (step.now() < next_vote_) return;
  next_vote_ = step.now() + kVoteInterval;
  if (!members_.outvoted(step.now())) return;
  next_vote_ = step.now() + kBan;
  step.timers.set(SyncTimer::ban_expiry, step.now() + kBan);
  step.turn.out.notify(Outvoted{});
}

void Leader::make_round(SyncStep& step) {
  const Instant now = step.now();
  clock::Servo& servo = step.clock.servo;
  if (members_.young(now)) {
    const auto average = members_.average_rate(now, step.rules.agreement);
    rate_change_ = average ? (*average + servo.rate()) / kRoundsToAverage : 0;
    step.steer(servo.hold(servo.rate() - rate_change_));
    step.timers.set(SyncTimer::round, now + kYoungRound);
    return;
  }
  rate_change_ = 0;
  const auto own = step.utc.claim(now, step.shows()).transform([](const UtcSource::Claim& claim) {
    return clock::UtcClaim{.gap = in_seconds(claim.gap), .bound = in_seconds(claim.bound)};
  });
  const clock::Aim aim = members_.round(now, step.clock.steered, servo.rate(), own);
  clock::Steering steering = servo.steer(
      now, step.shows(), aim, {.period = TimeScale::kRound, .most_change = kMasterWander});
  steering.settles = Nanos{0};  // the next round comes earlier
  step.steer(steering);
  step.timers.set(SyncTimer::round, now + TimeScale::kRound);
}

Nanos Leader::bound(Instant now) const {
  Nanos doubt{std::llround(std::abs(rate_change_) * kUnseenSquare * 1e9)};
  if (handover_bound_ > Nanos{0} && now - since_ < kHandover) doubt += handover_bound_;
  return doubt + members_.doubt(now);
}

}  // namespace tempo::node
