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

constexpr double kSurprises = 5;           // an opinion reaches that many standard surprises
constexpr double kLeastReach = 0.1e-6;     // and a little more
constexpr std::uint32_t kMaxMissed = 4;    // rounds in a row, then a member leaves
constexpr std::uint32_t kGrace = 16;       // rounds after a change of master
constexpr double kSurpriseHorizon = 4000;  // seconds
constexpr double kRateHorizon = 256;
constexpr double kProbation = 1000;  // seconds until a newcomer has its full weight
constexpr double kMaxWeight = 0.3;
constexpr double kMaxShares = 2.5;  // or that many times an equal share

struct Opinion {
  std::size_t member;
  Measured measured;
  double says;       // about the master's offset against the scale
  double says_rate;  // and about its rate
};

void learn(MemberClock& member, double offset, double elapsed) {
  const double error = offset - (member.offset + member.rate * elapsed);
  // A member pulls the scale towards itself by its weight, and would look better than it is.
  const double squared = error * error / std::max(0.3, 1 - member.weight);
  const double pace =
      std::max(elapsed / kSurpriseHorizon, 1.0 / (static_cast<double>(member.rounds) + 2));
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
    const double says = member->offset + member->rate * elapsed - one.offset;
    const double reach = kSurprises * std::sqrt(member->prediction_error) + kLeastReach;
    opinions.push_back({.member = static_cast<std::size_t>(member - members_.data()),
                        .measured = one,
                        .says = says,
                        .says_rate = member->rate - one.rate});
    claims.push_back({.low = says - reach, .high = says + reach});
  }
  const std::vector<std::size_t> agree = largest_consistent(claims).members;
  double weights = 0;
  double sum = 0;
  double rates = 0;
  for (const std::size_t i : agree) {
    const double weight = members_[opinions[i].member].weight;
    weights += weight;
    sum += weight * opinions[i].says;
    rates += weight * opinions[i].says_rate;
  }
  held_ = 2 * agree.size() <= opinions.size() || !(weights > 0);
  std::vector<std::optional<double>> used(members_.size());  // the new offset of those used
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
      learn(member, *used[i], elapsed);
      continue;
    }
    member.offset += member.rate * elapsed;
    if (grace_ == 0 && (!held_ || member.node != master_)) ++member.missed;
  }
  if (grace_ > 0) --grace_;
  read_master();
  if (!held_) {
    offset_ = sum / weights;
    // A master that was itself rejected does not know its rate; the others do.
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
  // The master has no measurement noise on itself and would look better than it is.
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
  const double most = std::max(kMaxWeight, kMaxShares / static_cast<double>(members_.size()));
  for (int pass = 0; pass < 3; ++pass) {
    double sum = 0;
    for (MemberClock& member : members_) {
      member.weight = std::min(member.weight / total, most);
      sum += member.weight;
    }
    total = sum;
  }
  for (MemberClock& member : members_) member.weight /= total;
}

}  // namespace tempo::clock
