#include "lab/studies/sync/assembly.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "lab/sim/allan.h"
#include "lab/studies/sync/oscillator.h"
#include "protocol/clock/ensemble.h"
#include "protocol/clock/estimation/estimator.h"

namespace tempo::clock::testing {
namespace {

constexpr double kFloor = 100e-6;
constexpr double kTau = 256;
// Exchanges after which the estimate of a member's clock is good.
constexpr std::size_t kSettled = 64;

enum Cause : std::uint32_t { wander = 11, jitter, rate };

class Run {
 public:
  Run(const AssemblyTrial& trial, std::uint64_t seed)
      : trial_(trial), jitter_(seed, Cause::jitter, 0), estimators_(count()) {
    Stream rates(seed, Cause::rate, 0);
    for (std::uint32_t i = 0; i < count(); ++i)
      clocks_.emplace_back(rates.unit() * 40e-6 - 20e-6, trial.wander,
                           Stream(seed, Cause::wander, i));
    phases_.resize(count());
  }

  AssemblyOutcome run() {
    constexpr int kRound = static_cast<int>(Ensemble::kPeriod);
    for (int second = 0; second < trial_.seconds; ++second) {
      if (trial_.disturbed) disturb(second);
      if (trial_.hand_over && second == trial_.seconds / 2) {
        master_ = count() - 1;
        ensemble_.hand_over(NodeId{static_cast<std::uint32_t>(master_)});
        std::ranges::fill(estimators_, Estimator{});
      }
      for (std::size_t i = 0; i < count(); ++i)
        if (i != master_) probe(i, second + 0.001 * static_cast<double>(i));
      if (second % kRound == kRound - 1) round(second + 0.9);
    }
    return judge();
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(trial_.nodes); }

  void disturb(int second) {
    if (second == trial_.seconds * 2 / 5) clocks_[1].jump(200e-6);
    if (second == trial_.seconds / 2) clocks_[2].change_rate(second, 1e-6);
    away_ = second >= trial_.seconds * 3 / 5 && second < trial_.seconds * 7 / 10;
  }

  // The master probes member i, whose clock serves as the reference.
  void probe(std::size_t i, double t) {
    const double out = kFloor + jitter_.exponential(trial_.jitter);
    const double back = kFloor + jitter_.exponential(trial_.jitter);
    if (i == 3 && away_) return;
    const Instant asked = clocks_[master_].reading(t);
    const Instant there = clocks_[i].reading(t + out);
    const Instant heard = clocks_[master_].reading(t + out + back);
    const WallTime stamp{there.time_since_epoch()};
    estimators_[i].add({.asked = asked, .received = stamp, .answered = stamp, .heard = heard});
  }

  void round(double t) {
    std::vector<Measured> measured;
    const Instant now = clocks_[master_].reading(t);
    for (std::size_t i = 0; i < count(); ++i) {
      if (i == master_ || (i == 3 && away_) || estimators_[i].exchanges() < kSettled) continue;
      const Estimate estimate = estimators_[i].at(now);
      measured.push_back({.node = NodeId{static_cast<std::uint32_t>(i)},
                          .offset = -in_seconds(estimate.theta),
                          .rate = -estimate.rate});
    }
    if (ensemble_.members().empty() && measured.size() + 1 < count()) return;
    ensemble_.round(Ensemble::kPeriod, measured);
    if (t < trial_.seconds / 4.0) return;
    scale_.push_back(clocks_[master_].ahead(t) - ensemble_.offset());
    for (std::size_t i = 0; i < count(); ++i) phases_[i].push_back(clocks_[i].ahead(t));
  }

  AssemblyOutcome judge() const {
    AssemblyOutcome outcome;
    outcome.scale_adev = sim::allan_deviation(scale_, Ensemble::kPeriod, kTau);
    std::vector<double> members;
    for (const std::vector<double>& phase : phases_)
      members.push_back(sim::allan_deviation(phase, Ensemble::kPeriod, kTau));
    std::ranges::sort(members);
    outcome.member_adev = (members[(members.size() - 1) / 2] + members[members.size() / 2]) / 2;
    for (std::size_t i = 2; i < scale_.size(); ++i)
      outcome.most_increment = std::max(
          outcome.most_increment, std::abs(scale_[i] - 2 * scale_[i - 1] + scale_[i - 2]) * 1e6);
    return outcome;
  }

  const AssemblyTrial& trial_;
  Stream jitter_;
  std::vector<Oscillator> clocks_;
  std::vector<Estimator> estimators_;
  Ensemble ensemble_{NodeId{0}};
  std::size_t master_ = 0;
  bool away_ = false;
  std::vector<double> scale_;
  std::vector<std::vector<double>> phases_;
};

}  // namespace

AssemblyOutcome run(const AssemblyTrial& trial, std::uint64_t seed) {
  return Run(trial, seed).run();
}

}  // namespace tempo::clock::testing
