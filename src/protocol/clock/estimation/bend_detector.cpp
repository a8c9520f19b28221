#include "protocol/clock/estimation/bend_detector.h"

#include <algorithm>
#include <cmath>

namespace tempo::clock {
namespace {

constexpr double kHorizon = 256;       // slots that the usual margin remembers
constexpr double kBentHorizon = 2048;  // the same while a window lies over a bend
constexpr double kGate = 6;            // mean deviations below the usual margin
constexpr double kLeast = 0.1e-6;      // seconds; added to the gate

}  // namespace

void BendDetector::judge(const CandidateFits& fits, bool opened) {
  first_bent_ = kWindows.size();
  for (std::size_t k = 0; k < kWindows.size(); ++k) {
    const Candidate& envelope = fits.candidates()[Kind::envelope][k];
    if (!envelope.present) break;
    MarginStats& stats = margins_[k];
    const double gap = envelope.margin - stats.margin;
    const bool bent =
        stats.slots >= static_cast<double>(kWindows[k]) && -gap > kGate * stats.deviation + kLeast;
    if (bent) first_bent_ = std::min(first_bent_, k);
    if (!opened) continue;
    stats.slots = std::min(stats.slots + 1, kHorizon);
    const double gain = 1 / std::max(stats.slots, bent ? kBentHorizon : 0);
    stats.margin += gap * gain;
    stats.deviation += (std::abs(gap) - stats.deviation) * gain;
  }
  if (first_bent_ == kWindows.size())
    run_ = 0;
  else if (opened)
    ++run_;
}

}  // namespace tempo::clock
