#include "protocol/clock/estimation/envelope.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace tempo::clock {
namespace {

double slope(const Reading& a, const Reading& b) { return (b.value - a.value) / (b.t - a.t); }

Envelope between(const Reading& out, const Reading& back, double origin, double rate) {
  const double upper = back.value - rate * (back.t - origin);
  const double lower = out.value + rate * (out.t - origin);
  return {.theta = {.value = (upper - lower) / 2, .rate = rate, .origin = origin},
          .margin = (upper + lower) / 2};
}

}  // namespace

Envelope widest(const Hull& out, const Hull& back, double origin, double fallback) {
  CHECK(out.size() > 0 && back.size() > 0);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  // Starts at a rate of minus infinity, where the oldest reverse and the newest forward reading are
  // tight. The margin grows with the rate while the tight reverse reading is the older of the two.
  std::size_t i = back.size() - 1;
  std::size_t j = 0;
  double rate = fallback;
  while (back[i].t < out[j].t) {
    const double next_back = i > 0 ? slope(back[i], back[i - 1]) : kInfinite;
    const double next_out = j + 1 < out.size() ? -slope(out[j], out[j + 1]) : kInfinite;
    if (next_back == kInfinite && next_out == kInfinite) break;
    rate = std::min(next_back, next_out);
    if (next_back < next_out)
      --i;
    else
      ++j;
  }
  return between(out[j], back[i], origin, rate);
}

Envelope widest_at_rate(const Hull& out, const Hull& back, double origin, double rate) {
  CHECK(out.size() > 0 && back.size() > 0);
  const auto tightest = [rate](const Hull& hull, Direction direction) {
    const Line slope{.rate = rate, .origin = hull[0].t};
    std::size_t best = 0;
    for (std::size_t i = 1; i < hull.size(); ++i)
      if (hull[i].delay(direction, slope) < hull[best].delay(direction, slope)) best = i;
    return hull[best];
  };
  return between(tightest(out, Direction::forward), tightest(back, Direction::reverse), origin,
                 rate);
}

}  // namespace tempo::clock
