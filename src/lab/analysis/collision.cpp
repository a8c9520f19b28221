#include "lab/analysis/collision.h"

#include "base/check.h"

namespace tempo::analysis {

Fraction collision(const Collision& collision) {
  CHECK(collision.daemons >= 1 && collision.daemons <= Collision::kMaxDaemons);
  if (collision.daemons == 1) return 0;
  if (collision.window >= collision.width) return 1;
  return Fraction{1} -
         Fraction::power(Fraction{1} - collision.window / collision.width, collision.daemons);
}

Fraction collision_bound(const Collision& collision) {
  return Fraction{std::int64_t{collision.daemons}} * collision.window / collision.width;
}

Fraction collision_integral(const Collision& collision) {
  CHECK(collision.daemons >= 1 && collision.daemons <= 200);
  const Fraction& width = collision.width;
  const Fraction& window = collision.window;
  if (window >= width) return 1;
  const std::uint32_t power = collision.daemons - 1;
  // With u = width - x, the remainder of the interval, the first integrand is N / width^N *
  // (u^(N-1) - (u - window)^(N-1)), from window to width; the second, from 0 to window, is N /
  // width^N * u^(N-1).
  const auto between = [](std::uint32_t exponent, const Fraction& from, const Fraction& to) {
    return (Fraction::power(to, exponent + 1) - Fraction::power(from, exponent + 1)) /
           Fraction{std::int64_t{exponent} + 1};
  };
  Fraction sum = between(power, window, width) + between(power, 0, window);
  for (std::uint32_t i = 0; i <= power; ++i) {
    const Fraction term = Fraction{Whole::binomial(power, i)} * Fraction::power(window, power - i) *
                          between(i, window, width);
    if ((power - i) % 2 == 0)
      sum -= term;
    else
      sum += term;
  }
  return sum * Fraction{std::int64_t{collision.daemons}} /
         Fraction::power(width, collision.daemons);
}

}  // namespace tempo::analysis
