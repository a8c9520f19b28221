#include "lab/studies/sync/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/random.h"
#include "lab/sim/delay.h"
#include "lab/studies/sync/oscillator.h"
#include "protocol/clock/estimation/estimator.h"

namespace tempo::clock::testing {
namespace {

constexpr double kServing = 20e-6;  // between the reference's two stamps
constexpr int kBurst = 8;
constexpr double kBurstGap = 0.1;

enum Cause : std::uint32_t { wander = 1, out, back, loss, rate };

sim::Delay parse(const std::string& text) {
  auto delay = sim::Delay::parse(text);
  CHECK(delay.has_value());
  return *delay;
}

double microseconds(Nanos span) { return static_cast<double>(span.count()) * 1e-3; }

// The times at which the client sends a probe.
std::vector<double> probe_times(const Trial& trial) {
  std::vector<double> moments;
  for (int i = 0; i < kBurst; ++i) moments.push_back(i * kBurstGap);
  for (int i = 0;; ++i) {
    const double moment = 1 + i / trial.per_second;
    if (moment >= trial.seconds) return moments;
    if (trial.silent_from >= 0 && moment >= trial.silent_from) return moments;
    moments.push_back(moment);
  }
}

class Run {
 public:
  Run(const Trial& trial, std::uint64_t seed)
      : trial_(trial),
        clock_(Stream(seed, Cause::rate, 0).unit() * 40e-6 - 20e-6, trial.wander,
               Stream(seed, Cause::wander, 0)),
        out_stream_(seed, Cause::out, 0),
        back_stream_(seed, Cause::back, 0),
        loss_stream_(seed, Cause::loss, 0) {}

  Outcome run() {
    const double half = trial_.seconds / 2.0;
    bool changed = false;
    out_ = parse(trial_.out);
    back_ = parse(trial_.back);
    int second = 1;
    for (const double moment : probe_times(trial_)) {
      // Evaluate just before a probe, when the estimate is oldest.
      for (; second - 1e-3 < moment; ++second) judge(second);
      if (!changed && moment >= half) change(moment);
      changed = moment >= half;
      probe(moment);
    }
    for (; second <= trial_.seconds; ++second) judge(second);
    finish();
    return outcome_;
  }

 private:
  void change(double moment) {
    if (!trial_.later_out.empty()) out_ = parse(trial_.later_out);
    if (!trial_.later_back.empty()) back_ = parse(trial_.later_back);
    clock_.jump(trial_.clock_jump);
    clock_.change_rate(moment, trial_.rate_step);
  }

  void probe(double moment) {
    const bool lost = loss_stream_.chance(trial_.loss);
    const double there = in_seconds(out_.sample(out_stream_));
    const double here = in_seconds(back_.sample(back_stream_));
    if (lost) return;
    const Instant asked = clock_.reading(moment);
    const double answered = moment + there + kServing;
    const Instant heard = clock_.reading(answered + here);
    const bool good = estimator_.add({.asked = asked,
                                      .received = Oscillator::wall(moment + there),
                                      .answered = Oscillator::wall(answered),
                                      .heard = heard});
    CHECK(good);
    least_trip_ = std::min(least_trip_, there + here);
  }

  void judge(int second) {
    const double t = second - 1e-3;
    const Estimate estimate = estimator_.at(clock_.reading(t));
    const Nanos truth = clock_.theta(t);
    const double error = microseconds(estimate.theta - truth);
    outcome_.errors.push_back(error);
    if (truth < estimate.earliest || truth > estimate.latest) ++outcome_.violations;
    if (second <= 10) outcome_.at_10s = std::abs(error);
    if (second < trial_.seconds / 4) return;
    squares_ += error * error;
    sigmas_ += microseconds(estimate.sigma) * microseconds(estimate.sigma);
    outcome_.most = std::max(outcome_.most, std::abs(error));
    widths_.push_back(microseconds(estimate.latest - estimate.earliest));
  }

  void finish() {
    const auto count = static_cast<double>(widths_.size());
    outcome_.rms = std::sqrt(squares_ / count);
    outcome_.sigma = std::sqrt(sigmas_ / count);
    std::ranges::sort(widths_);
    outcome_.width = widths_[widths_.size() / 2];
    outcome_.least_trip = least_trip_ * 1e6;
  }

  const Trial& trial_;
  Oscillator clock_;
  Stream out_stream_;
  Stream back_stream_;
  Stream loss_stream_;
  sim::Delay out_;
  sim::Delay back_;
  Estimator estimator_;
  Outcome outcome_;
  double squares_ = 0;
  double sigmas_ = 0;
  double least_trip_ = std::numeric_limits<double>::infinity();
  std::vector<double> widths_;
};

}  // namespace

Outcome run(const Trial& trial, std::uint64_t seed) { return Run(trial, seed).run(); }

Summary summarize(const Trial& trial, int seeds) {
  Summary summary;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Outcome one = run(trial, static_cast<std::uint64_t>(seed));
    summary.rms += one.rms / seeds;
    summary.worst_rms = std::max(summary.worst_rms, one.rms);
    summary.most = std::max(summary.most, one.most);
    summary.sigma += one.sigma / seeds;
    summary.at_10s = std::max(summary.at_10s, one.at_10s);
    summary.width += one.width / seeds;
    summary.least_trip += one.least_trip / seeds;
    summary.violations += one.violations;
  }
  return summary;
}

}  // namespace tempo::clock::testing
