#include "base/random.h"

#include <bit>
#include <cmath>

#include <Random123/philox.h>

namespace tempo {
namespace {
__extension__ using Wide = unsigned __int128;
}  // namespace

std::uint64_t Stream::first_of_block() {
  const std::uint64_t block = drawn_ / 2;
  const r123::Philox4x32 philox;
  const r123::Philox4x32::ctr_type counter{
      {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), node_, cause_}};
  const r123::Philox4x32::key_type key{
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  const auto words = philox(counter, key);
  second_ = (std::uint64_t{words[3]} << 32) | words[2];
  return (std::uint64_t{words[1]} << 32) | words[0];
}

bool Stream::chance(double probability) { return unit() < probability; }

std::uint64_t Stream::below(std::uint64_t limit) {
  CHECK(limit > 0);
  // Lemire (2019): the high half of a product, drawn again in the few cases that would bias it. The
  // loop ends because at least half of all draws are accepted.
  for (;;) {
    const auto product = static_cast<Wide>(next()) * limit;
    const auto low = static_cast<std::uint64_t>(product);
    if (low >= limit || low >= (0 - limit) % limit)
      return static_cast<std::uint64_t>(product >> 64);
  }
}

Nanos Stream::uniform(Nanos low, Nanos high) {
  CHECK(low <= high);
  return low + Nanos{static_cast<Nanos::rep>(
                   below(static_cast<std::uint64_t>((high - low).count()) + 1))};
}

double Stream::exponential(double mean) { return -mean * exact_log(1.0 - unit()); }

double Stream::normal(double mean, double deviation) {
  // Marsaglia's polar method. The loop ends because three of four pairs are accepted.
  for (;;) {
    const double x = 2 * unit() - 1;
    const double y = 2 * unit() - 1;
    const double square = x * x + y * y;
    if (square >= 1 || square == 0) continue;
    return mean + deviation * x * std::sqrt(-2 * exact_log(square) / square);
  }
}

double Stream::pareto(double minimum, double alpha) {
  return minimum * exact_exp(-exact_log(1.0 - unit()) / alpha);
}

namespace {
constexpr double kLn2High = 0x1.62e42fefa38p-1;   // the first 40 bits of ln 2
constexpr double kLn2Low = 0x1.ef35793c7673p-45;  // ln 2 minus kLn2High
}  // namespace

double exact_log(double x) {
  CHECK(x > 0 && x < HUGE_VAL);
  if (x < 0x1p-1022) return exact_log(x * 0x1p54) - 54 * (kLn2High + kLn2Low);
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh(s), s = (m - 1) / (m + 1).
  auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
  double mantissa = std::bit_cast<double>(bits);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double z = s * s;  // at most 0.0295: the series below is exact to 1e-17
  double sum = 0;
  for (int odd = 23; odd >= 3; odd -= 2) sum = (sum + 1.0 / odd) * z;
  return exponent * kLn2High + (2 * s + (2 * s * sum + exponent * kLn2Low));
}

double exact_exp(double x) {
  if (x > 0x1.62e42fefa39efp+9) return HUGE_VAL;
  if (x < -745) return 0;
  const double k = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;  // within ln(2)/2 of 0
  double sum = 1;
  for (int term = 17; term >= 1; --term) sum = 1 + sum * r / term;
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace tempo
