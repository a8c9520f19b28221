#include "protocol/sync/time_scale.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "protocol/clock/rejection.h"
#include "protocol/sync/sync_step.h"

namespace tempo::node {
namespace {

constexpr Nanos kYouth = 48s;            // a new network adopts the average rate for this long
constexpr Nanos kProbation = 60s;        // age of a member's first report before the member counts
constexpr Nanos kFirstProbation = 256s;  // the same, before the ensemble starts
constexpr Nanos kLeastForget = 8s;       // a member without a report for this long is dropped
constexpr int kReportsToForget = 5;      // or without this many expected reports
constexpr double kSlopeGain = 0.25;      // weight of the newest round
constexpr Nanos kObjections = 6s;        // an objection counts for this long
constexpr NodeId kOwnClock = kNobody;    // this node in the ensemble
constexpr Nanos kLeastSpan = 1s;         // between two reports that limit a rate
constexpr double kRateWander = 10e-6;  // change of a rate, by temperature, that is no contradiction
constexpr Nanos kNewRate = 60s;  // a contradiction of this length means that the rate has changed

}  // namespace

void TimeScale::begin(Instant now, bool young) {
  end();
  pulled_at_ = Instant{};
  since_ = now;
  young_ = young;
}

void TimeScale::end() {
  members_.clear();
  doubtful_ = kNobody;
  ensemble_.reset();
  utc_ = {};
  young_ = false;
}

void TimeScale::report(Instant now, NodeId from, const Report& report) {
  Member& member = members_[from];
  const bool first = member.heard == Instant{};
  static_cast<Report&>(member) = report;
  if (first) {
    member.since = now;
    member.origin = report.offset;
  }
  member.every = first ? Nanos{0} : std::max(now - member.heard, member.every / 2);
  member.heard = now;
  limit_rate(now, member, first);
  if (member.contradicts())
    doubtful_ = alone(now, from) ? from : kNobody;
  else if (doubtful_ == from)
    doubtful_ = kNobody;
}

// Between two reports its offset changed by their difference, give or take both bounds.
void TimeScale::limit_rate(Instant now, Member& member, bool first) {
  const auto rebase = [&] {
    member.best_offset = member.offset;
    member.best_bound = member.bound;
    member.best_at = now;
  };
  if (first) rebase();
  if (now - member.best_at >= kLeastSpan) {
    const double span = in_seconds(now - member.best_at);
    const double change = in_seconds(member.offset - member.best_offset) / span;
    const double doubt = in_seconds(member.bound + member.best_bound) / span + kRateWander;
    const double low = std::max(member.least_rate, change - doubt);
    const double high = std::min(member.most_rate, change + doubt);
    if (low <= high) {
      member.least_rate = low;
      member.most_rate = high;
    }
  }
  if (2 * member.bound < member.best_bound) rebase();
  const double rate = from_ppt(member.rate_ppt);
  if (rate >= member.least_rate && rate <= member.most_rate) {
    member.contradicts_since = kNever;
    return;
  }
  member.contradicts_since = std::min(member.contradicts_since, now);
  if (now - member.contradicts_since < kNewRate) return;
  member.least_rate = -clock::Servo::kMaxFrequency;
  member.most_rate = clock::Servo::kMaxFrequency;
  member.contradicts_since = kNever;
  rebase();
}

// Whether it is the only member that reports.
bool TimeScale::alone(Instant now, NodeId member) const {
  const auto all = members_.sorted();
  return std::ranges::none_of(
      all, [&](const auto& slot) { return slot.key != member && fresh(now, slot.value); });
}

Nanos TimeScale::doubt(Instant now) const {
  if (doubtful_ == kNobody) return Nanos{0};
  const Member& member = *members_.find(doubtful_);
  if (!fresh(now, member)) return Nanos{0};
  const double rate = from_ppt(member.rate_ppt);
  const double beyond = std::max(member.least_rate - rate, rate - member.most_rate);
  return share_of(now - member.contradicts_since, std::min(beyond, clock::Servo::kMaxFrequency));
}

bool TimeScale::fresh(Instant now, const Member& member) const {
  return now - member.heard <= std::max(kLeastForget, kReportsToForget * member.every);
}

// Seconds of its reports.
double TimeScale::seen(Instant now, const Member& member) {
  return std::max(in_seconds(now - member.since), 1e-3);
}

// Whether its rate is known to kRateDoubt.
bool TimeScale::knows_rate(Instant now, const Member& member) {
  return 2 * in_seconds(member.sigma) / seen(now, member) <= kRateDoubt;
}

bool TimeScale::known_well(Instant now, const Member& member) const {
  return fresh(now, member) && !member.contradicts() &&
         now - member.since >= (ensemble_ ? kProbation : kFirstProbation);
}

bool TimeScale::young(Instant now) const { return young_ && now - since_ < kYouth; }

std::optional<double> TimeScale::average_rate(Instant now, double agreement) {
  // Two rates agree if their intervals of half the range to either side overlap.
  const auto claim = [&](double rate) {
    return clock::Interval{.low = rate - agreement / 2, .high = rate + agreement / 2};
  };
  std::vector<double> rates{0.0};
  std::vector<clock::Interval> claims{claim(0.0)};
  const auto members = members_.sorted();
  std::vector<NodeId> counted{kOwnClock};
  std::size_t voters = 1;  // all of these, and the members that contradict themselves
  for (const auto& slot : members) {
    const Member& member = slot.value;
    if (!fresh(now, member) || !knows_rate(now, member)) continue;
    ++voters;
    if (member.contradicts()) {
      members_[slot.key].faulty = true;
      continue;
    }
    rates.push_back(from_ppt(member.rate_ppt));
    claims.push_back(claim(rates.back()));
    counted.push_back(slot.key);
  }
  const clock::ConsistentGroup group = clock::largest_consistent(claims);
  for (std::size_t i = 1; i < counted.size(); ++i) members_[counted[i]].faulty = true;
  double sum = 0;
  for (const std::size_t i : group.members) {
    sum += rates[i];
    if (i > 0) members_[counted[i]].faulty = false;
  }
  if (2 * group.members.size() <= voters) return std::nullopt;
  return sum / static_cast<double>(group.members.size());
}

// The ensemble does not know of UTC: the rate towards UTC is removed from its rate, and the change
// that this rate has caused since the last round from theta.
clock::Aim TimeScale::round(Instant now, const clock::SteeredClock& steered, double rate,
                            const std::optional<clock::UtcClaim>& own) {
  const double elapsed = pulled_at_ == Instant{} ? 0 : in_seconds(now - pulled_at_);
  theta_ -= Nanos{std::llround(utc_.rate() * elapsed * 1e9)};
  clock::Aim aim = ensemble_round(now, steered, rate + utc_.rate());
  pulled_at_ = now;
  std::vector<clock::UtcClaim> claims = utc_claims(now);
  if (own) claims.push_back(*own);
  aim.rate -= utc_.round(elapsed, claims);
  return aim;
}

std::vector<clock::UtcClaim> TimeScale::utc_claims(Instant now) const {
  std::vector<clock::UtcClaim> claims;
  for (const auto& slot : members_.sorted()) {
    const Member& member = slot.value;
    if (member.utc_bound > Nanos{0} && known_well(now, member))
      claims.push_back({.gap = in_seconds(member.utc_gap), .bound = in_seconds(member.utc_bound)});
  }
  return claims;
}

clock::Aim TimeScale::ensemble_round(Instant now, const clock::SteeredClock& steered, double rate) {
  std::vector<clock::Measured> measured;
  const auto members = members_.sorted();
  measured.reserve(members.size());
  for (const auto& slot : members) {
    const Member& member = slot.value;
    if (!known_well(now, member)) continue;
    const double member_rate = from_ppt(member.rate_ppt);
    measured.push_back({.node = slot.key,
                        .offset = in_seconds(member.offset - member.origin) +
                                  member_rate * in_seconds(now - member.heard),
                        .rate = member_rate});
  }
  const bool first = !ensemble_;
  if (first) {
    theta_ = now.time_since_epoch() - steered.at(now).time_since_epoch();
    if (measured.empty()) return {.theta = theta_, .rate = rate};
    ensemble_.emplace(kOwnClock, rate);
    round_at_ = now - kRound;
  }
  const double before = ensemble_->offset();
  const double elapsed = in_seconds(now - round_at_);
  ensemble_->round(elapsed, measured);
  // The ensemble's rate is an average over many minutes; our clock has wandered since.
  slope_ = first ? rate : slope_ + ((ensemble_->offset() - before) / elapsed - slope_) * kSlopeGain;
  round_at_ = now;
  for (const clock::Measured& one : measured)
    members_[one.node].faulty = ensemble_->rejected(one.node);
  return {.theta = theta_ + Nanos{std::llround(ensemble_->offset() * 1e9)}, .rate = slope_};
}

std::optional<TimeScale::Knowledge> TimeScale::worst(Instant now) const {
  std::optional<Knowledge> worst;
  for (const auto& slot : members_.sorted()) {
    const Member& member = slot.value;
    if (!fresh(now, member)) continue;
    if (!worst) worst = {.span = std::numeric_limits<double>::infinity(), .rate_known = true};
    worst->sigma = std::max(worst->sigma, in_seconds(member.sigma));
    worst->span = std::min(worst->span, seen(now, member));
    worst->bound = std::max(worst->bound, member.bound + std::chrono::abs(member.error));
    worst->rate_known &= knows_rate(now, member);
  }
  return worst;
}

bool TimeScale::outvoted(Instant now) const {
  std::size_t present = 0;
  std::size_t against = 0;
  for (const auto& slot : members_.sorted()) {
    if (!fresh(now, slot.value)) continue;
    ++present;
    against += slot.value.objects && now - slot.value.heard <= kObjections;
  }
  return against >= 2 && 2 * against > present;
}

}  // namespace tempo::node
