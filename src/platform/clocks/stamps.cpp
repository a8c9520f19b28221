#include "platform/clocks/stamps.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tempo::sys {

const Bracket& narrowest(std::span<const Bracket> brackets) {
  CHECK(!brackets.empty());
  return *std::ranges::min_element(brackets, {}, &Bracket::width);
}

std::optional<Instant> StampConverter::convert(const Bracket& bracket, Nanos stamp) {
  if (bracket.width() < Nanos{0} || bracket.width() > kWidest) return std::nullopt;
  notice(bracket);
  const Nanos age = bracket.real - stamp;
  if (age > kOldest || age < -bracket.width()) return std::nullopt;
  const double raw_age = static_cast<double>(age.count()) / (1 + slope_);
  const Instant at = bracket.raw() - Nanos{std::llround(raw_age)};
  if (at < trusted_from_) return std::nullopt;
  return at;
}

void StampConverter::notice(const Bracket& bracket) {
  if (last_) {
    const Nanos moved = bracket.ahead() - last_->ahead();
    const Nanos apart = bracket.raw() - last_->raw();
    const Nanos slewed{std::llround(static_cast<double>(apart.count()) * kMaxSlew)};
    if (std::chrono::abs(moved) > kStep + slewed) {
      // The step happened after the last bracket. A timestamp from before it is converted too early
      // by a step forwards, and too late by the size of a step backwards.
      trusted_from_ = bracket.raw() + std::max(-moved, Nanos{0});
      anchor_.reset();
      slope_ = 0;
    }
  }
  last_ = bracket;
  if (!anchor_) {
    anchor_ = bracket;
    return;
  }
  const Nanos apart = bracket.raw() - anchor_->raw();
  if (apart < kSlopeFrom) return;
  const Nanos moved = bracket.ahead() - anchor_->ahead();
  slope_ = apart > kSlopeTo
               ? 0
               : static_cast<double>(moved.count()) / static_cast<double>(apart.count());
  anchor_ = bracket;
}

}  // namespace tempo::sys
