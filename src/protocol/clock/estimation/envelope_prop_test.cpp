#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "protocol/clock/estimation/envelope.h"

namespace tempo::clock {
namespace {

struct Cloud {
  std::vector<Reading> out;
  std::vector<Reading> back;
};

Cloud cloud(const std::vector<std::uint8_t>& heights) {
  Cloud cloud;
  for (std::size_t i = 0; i + 1 < heights.size(); i += 2) {
    const double t = -static_cast<double>(i);
    cloud.out.push_back({.t = t, .value = static_cast<double>(heights[i])});
    cloud.back.push_back({.t = t + 0.5, .value = static_cast<double>(heights[i + 1])});
  }
  return cloud;
}

// The common margin of the best line with this rate, from every reading.
double margin(const Cloud& cloud, double rate) {
  double upper = std::numeric_limits<double>::infinity();
  double lower = upper;
  for (const Reading& back : cloud.back) upper = std::min(upper, back.value - rate * back.t);
  for (const Reading& out : cloud.out) lower = std::min(lower, out.value + rate * out.t);
  return (upper + lower) / 2;
}

// The margin is concave in the rate and bends only where two readings of one direction are equally
// tight: trying every such rate finds the widest.
RC_GTEST_PROP(Envelope, HasTheWidestMargin, (const std::vector<std::uint8_t>& heights)) {
  RC_PRE(heights.size() >= 4U && heights.size() <= 80U);
  const Cloud all = cloud(heights);
  Hull out(100);
  Hull back(100);
  for (const Reading& reading : all.out) out.push(reading);
  for (const Reading& reading : all.back) back.push(reading);
  const Envelope found = widest(out, back, 0, 0);

  double widest_margin = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < all.out.size(); ++i)
    for (std::size_t j = i + 1; j < all.out.size(); ++j) {
      const double span = all.out[j].t - all.out[i].t;
      widest_margin =
          std::max(widest_margin, margin(all, -(all.out[j].value - all.out[i].value) / span));
      widest_margin =
          std::max(widest_margin, margin(all, (all.back[j].value - all.back[i].value) / span));
    }
  RC_CLASSIFY(out.size() > 2 && back.size() > 2);
  RC_ASSERT(std::abs(found.margin - widest_margin) < 1e-9);
  RC_ASSERT(std::abs(margin(all, found.theta.rate) - widest_margin) < 1e-9);
  for (const Reading& reading : all.out)
    RC_ASSERT(reading.delay(Direction::forward, found.theta) >= found.margin - 1e-9);
  for (const Reading& reading : all.back)
    RC_ASSERT(reading.delay(Direction::reverse, found.theta) >= found.margin - 1e-9);
}

RC_GTEST_PROP(Envelope, IsExactForAGivenRate,
              (const std::vector<std::uint8_t>& heights, std::int8_t rate)) {
  RC_PRE(heights.size() >= 2U && heights.size() <= 80U);
  const Cloud all = cloud(heights);
  Hull out(100);
  Hull back(100);
  for (const Reading& reading : all.out) out.push(reading);
  for (const Reading& reading : all.back) back.push(reading);
  RC_ASSERT(std::abs(widest_at_rate(out, back, 0, rate).margin - margin(all, rate)) < 1e-9);
}

}  // namespace
}  // namespace tempo::clock
