#include "protocol/clock/ensemble.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"
#include "protocol/clock/interval.h"
#include "protocol/clock/rejection.h"

namespace tempo::clock {
namespace {

constexpr double kReachErrors = 5;       // half width of an opinion, in rms prediction errors
constexpr double kLeastReach = 0.1e-6;   // added to it, in seconds
constexpr std::uint32_t kMaxMissed = 4;  // a member leaves after this many rounds in a row
constexpr std::uint32_t kGrace = 16;     // rounds after a change of master
constexpr double kErrorHorizon = 4000;   // seconds, of the mean squared prediction error
constexpr double kRateHorizon = 256;     // seconds, of the mean rate
constexpr double kProbation = 1000;      // seconds until a new member has its full weight
constexpr double kMaxWeight = 0.3;       // limit of a weight
constexpr double kMaxShares = 2.5;       // or this many equal shares, if that is more

// A member's prediction of the master's clock.
struct Opinion {
  std::size_t member;
  Measured measured;
  double offset;  // of the master's clock against the scale
  double rate;    // of that offset
};

void update(MemberClock& member, double offset, double elapsed) {
  const double error = offset - (member.offset + member.rate * elapsed);
  // A member pulls the scale towards itself by its weight, so its error looks too small.
  const double squared = error * error / std::max(0.3, 1 - member.weight);
  const double pace =
      std::max(elapsed / kErrorHorizon, 1.0 / (static_cast<double>(member.rounds) + 2));
  member.prediction_error += (squared - member.prediction_error) * std::min(pace, 1.0);
  member.rate +=
      ((offset - member.offset) / elapsed - member.rate) * std::min(elapsed / kRateHorizon, 1.0);
  member.offset = offset;
  ++member.rounds;
  member.missed = 0;
}

}  // namespace

Ensemble::Ensemble(NodeId master, std::vector<MemberClock> members)
    : master_(master), members_(std::move(members)) {
  std::ranges::sort(members_, {}, &MemberClock::node);
  hand_over(master);
}

void Ensemble::hand_over(NodeId master) {
  master_ = master;
  grace_ = kGrace;
  read_master();
}

const MemberClock* Ensemble::find(NodeId node) const {
  const auto at = std::ranges::lower_bound(members_, node, {}, &MemberClock::node);
  return at == members_.end() || at->node != node ? nullptr : &*at;
}
MemberClock* Ensemble::find(NodeId node) {
  return const_cast<MemberClock*>(std::as_const(*this).find(node));  // NOLINT: one search
}

bool Ensemble::rejected(NodeId node) const {
  const MemberClock* member = find(node);
  return member != nullptr && member->rejected;
}

void Ensemble::read_master() {
  if (const MemberClock* master = find(master_)) {
    offset_ = master->offset;
    rate_ = master->rate;
  }
}

void Ensemble::round(double elapsed, std::span<const Measured> measured) {
  CHECK(elapsed > 0);
  std::vector<Measured> now;
  for (const Measured& one : measured)
    if (std::isfinite(one.offset) && std::isfinite(one.rate)) now.push_back(one);
  if (std::ranges::find(now, master_, &Measured::node) == now.end())
    now.push_back({.node = master_});
  if (members_.empty()) {
    start(now);
    return;
  }

  std::vector<Opinion> opinions;
  std::vector<Interval> claims;
  for (const Measured& one : now) {
    const MemberClock* member = find(one.node);
    if (member == nullptr) continue;
    const double offset = member->offset + member->rate * elapsed - one.offset;
    const double reach = kReachErrors * std::sqrt(member->prediction_error) + kLeastReach;
    opinions.push_back({.member = static_cast<std::size_t>(member - members_.data()),
                        .measured = one,
                        .offset = offset,
                        .rate = member->rate - one.rate});
    claims.push_back({.low = offset - reach, .high = offset + reach});
  }
  const std::vector<std::size_t> agree = largest_consistent(claims).members;
  double weights = 0;
  double sum = 0;
  double rates = 0;
  for (const std::size_t i : agree) {
    const double weight = members_[opinions[i].member].weight;
    weights += weight;
    sum += weight * opinions[i].offset;
    rates += weight * opinions[i].rate;
  }
  held_ = 2 * agree.size() <= opinions.size() || !(weights > 0);
  std::vector<std::optional<double>> used(members_.size());  // new offset; empty: not used
  for (const Opinion& opinion : opinions) members_[opinion.member].rejected = !held_;
  if (!held_) {
    for (const std::size_t i : agree) {
      used[opinions[i].member] = sum / weights + opinions[i].measured.offset;
      members_[opinions[i].member].rejected = false;
    }
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    MemberClock& member = members_[i];
    if (used[i]) {
      update(member, *used[i], elapsed);
      continue;
    }
    member.offset += member.rate * elapsed;
    if (grace_ == 0 && (!held_ || member.node != master_)) ++member.missed;
  }
  if (grace_ > 0) --grace_;
  read_master();
  if (!held_) {
    offset_ = sum / weights;
    // If the master's own opinion was rejected, its rate comes from the others.
    if (const MemberClock* master = find(master_); master != nullptr && master->missed > 0)
      rate_ = rates / weights;
  }
  std::erase_if(members_, [](const MemberClock& m) { return m.missed >= kMaxMissed; });
  join(now);
  weigh();
}

void Ensemble::start(std::span<const Measured> measured) {
  join(measured);
  for (MemberClock& member : members_) member.weight = 1 / static_cast<double>(members_.size());
}

void Ensemble::join(std::span<const Measured> measured) {
  std::vector<MemberClock> joining;
  for (const Measured& one : measured)
    if (find(one.node) == nullptr)
      joining.push_back(
          {.node = one.node, .offset = offset_ + one.offset, .rate = rate_ + one.rate});
  if (joining.empty()) return;
  members_.insert(members_.end(), joining.begin(), joining.end());
  std::ranges::sort(members_, {}, &MemberClock::node);
}

void Ensemble::weigh() {
  // The master's measurement of itself has no noise, so its error looks too small.
  std::vector<double> others;
  for (const MemberClock& member : members_)
    if (member.node != master_) others.push_back(member.prediction_error);
  if (MemberClock* master = find(master_); master != nullptr && !others.empty()) {
    std::ranges::sort(others);
    master->prediction_error = std::max(master->prediction_error, others[(others.size() - 1) / 4]);
  }
  double total = 0;
  for (MemberClock& member : members_) {
    member.weight = std::min(1.0, member.rounds * kPeriod / kProbation) /
                    std::max(member.prediction_error, 1e-24);
    total += member.weight;
  }
  if (total <= 0) return;
  const double max_weight = std::max(kMaxWeight, kMaxShares / static_cast<double>(members_.size()));
  for (int pass = 0; pass < 3; ++pass) {
    double sum = 0;
    for (MemberClock& member : members_) {
      member.weight = std::min(member.weight / total, max_weight);
      sum += member.weight;
    }
    total = sum;
  }
  for (MemberClock& member : members_) member.weight /= total;
}

}  // namespace tempo::clock
