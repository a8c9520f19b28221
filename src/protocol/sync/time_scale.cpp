#include "protocol/sync/time_scale.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "protocol/clock/rejection.h"

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

}  // namespace

void TimeScale::begin(Instant now, bool young) {
  end();
  pulled_at_ = Instant{};
  since_ = now;
  young_ = young;
}

void TimeScale::end() {
  members_.clear();
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
  return fresh(now, member) && now - member.since >= (ensemble_ ? kProbation : kFirstProbation);
}

bool TimeScale::young(Instant now) const { return young_ && now - since_ < kYouth; }

double TimeScale::average_rate(Instant now, double agreement) {
  // Two rates agree if their intervals of half the range to either side overlap.
  const auto claim = [&](double rate) {
    return clock::Interval{.low = rate - agreement / 2, .high = rate + agreement / 2};
  };
  std::vector<double> rates{0.0};
  std::vector<clock::Interval> claims{claim(0.0)};
  const auto members = members_.sorted();
  std::vector<NodeId> counted{kOwnClock};
  for (const auto& slot : members) {
    const Member& member = slot.value;
    if (!fresh(now, member) || !knows_rate(now, member)) continue;
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
