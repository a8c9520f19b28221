#include "lab/analysis/ring_time.h"

#include <cmath>
#include <functional>
#include <utility>

#include "base/check.h"
#include "lab/analysis/enclosure.h"

namespace tempo::analysis {
namespace {

constexpr double kMaxExactBits = 20'000;  // bits of a probability's denominator
constexpr double kMaxExactMomentBits = 6'000;
constexpr std::uint32_t kMaxSummands = 12;  // largest number of stations and of rounds

Number number_of(const Fraction& exact) { return {exact, decimal(exact), exact.nearest()}; }

// Increases the precision until kUsualDigits digits of every value are certain. Terminates: the
// precision doubles, and a value is either 0, which is enclosed exactly, or has a first digit.
std::vector<Number> certified(
    const std::function<std::vector<Enclosure>(const EnclosureScale&)>& work) {
  for (std::uint32_t bits = 512;; bits *= 2) {
    CHECK(bits <= 1U << 22);
    std::vector<Number> numbers;
    bool sure = true;
    for (const Enclosure& enclosure : work(EnclosureScale{bits})) {
      const Bounds bounds = enclosure.bounds();
      const std::optional<std::string> text = certified_decimal(bounds);
      sure = sure && text.has_value();
      if (!sure) break;
      numbers.push_back({bounds.low == bounds.high ? std::optional{bounds.low} : std::nullopt,
                         *text, bounds.low.nearest()});
    }
    if (sure) return numbers;
  }
}

// The moments of the number of steps of a chain that never goes up, for any number type: S_q(i) =
// sum over t < q of C(q,t) sum over j <= i of p(i,j) S_t(j), plus the terms of S_q itself below i,
// divided by the probability of leaving i.
template <class Value, class Step, class Leave>
std::vector<Value> raw_moments(std::uint32_t n, std::uint32_t q, const Value& zero,
                               const Value& one, Step step, Leave leave) {
  // moments[t][i] belongs to state i; state 1 is the end.
  std::vector<std::vector<Value>> moments(q + 1, std::vector<Value>(n + 1, zero));
  for (std::uint32_t i = 1; i <= n; ++i) moments[0][i] = one;
  for (std::uint32_t i = 2; i <= n; ++i) {
    std::vector<Value> means(q + 1, zero);  // of S_t over the next state; for t = q without i
    for (std::uint32_t t = 1; t <= q; ++t) {
      for (std::uint32_t j = 2; j < i; ++j) means[t] += step(i, j) * moments[t][j];
      Value sum = one + means[t];
      for (std::uint32_t s = 1; s < t; ++s) {
        Value below = means[s] + step(i, i) * moments[s][i];
        sum += below * Whole::binomial(t, s);
      }
      moments[t][i] = leave(std::move(sum), i);
    }
  }
  std::vector<Value> result;
  for (std::uint32_t t = 0; t <= q; ++t) result.push_back(moments[t][n]);
  return result;
}

// Equation (17).
template <class Value>
std::vector<Value> central(const std::vector<Value>& raw, const Value& one) {
  std::vector<Value> result;
  const Value zero = one - one;  // NOLINT(misc-redundant-expression): a zero of this number type
  const Value minus_mean = zero - raw[1];
  for (std::uint32_t q = 0; q < raw.size(); ++q) {
    Value sum = zero;
    Value power = one;
    for (std::uint32_t i = q + 1; i-- > 0;) {
      sum += power * raw[i] * Whole::binomial(q, i);
      power = power * minus_mean;
    }
    result.push_back(sum);
  }
  return result;
}

}  // namespace

RingTime::RingTime(std::uint32_t n, std::uint64_t m) : chains_(n, m) {
  CHECK(n <= kMaxStations && m <= std::uint64_t{1} << 62);
}

Fraction RingTime::step(std::uint32_t i, std::uint32_t j) const {
  CHECK(i >= 1 && i <= stations());
  if (j < 1 || j > i || i == 1) return 0;
  return {chains_.at(i, j), Whole::power(static_cast<std::int64_t>(range()), i)};
}

Fraction RingTime::steps(std::uint32_t i, std::uint32_t j, std::uint32_t k) const {
  CHECK(i >= 1 && i <= stations() && k <= kMaxRounds);
  std::vector<Fraction> at(i + 1, 0);
  at[i] = 1;
  for (std::uint32_t round = 0; round < k; ++round) {
    std::vector<Fraction> next(i + 1, 0);
    for (std::uint32_t l = 2; l <= i; ++l)
      for (std::uint32_t to = 1; to <= l; ++to) next[to] += at[l] * step(l, to);
    at = std::move(next);
  }
  return j >= 1 && j <= i ? at[j] : Fraction{0};
}

namespace {

// P{k rounds lead to each state}, times m^(n k): integers.
std::vector<Fraction> exact_distribution(const CircularChains& chains, std::uint32_t last) {
  const std::uint32_t n = chains.stations();
  const Whole range{static_cast<std::int64_t>(chains.range())};
  std::vector<Whole> rest(n + 1);  // m^(n - l)
  for (std::uint32_t l = 0; l <= n; ++l) rest[l] = Whole::power(range, n - l);
  const Whole all = rest[0];
  std::vector<Fraction> result{n == 1 ? 1 : 0};
  std::vector<Whole> at(n + 1);
  at[n] = 1;
  Whole denominator = 1;
  for (std::uint32_t k = 1; k <= last; ++k) {
    std::vector<Whole> next(n + 1);
    for (std::uint32_t l = 2; l <= n; ++l) {
      if (at[l].zero()) continue;
      const Whole scaled = at[l] * rest[l];
      for (std::uint32_t j = 1; j <= l; ++j) next[j].add_product(scaled, chains.at(l, j));
    }
    at = std::move(next);
    denominator *= all;
    result.emplace_back(at[1], denominator);
  }
  return result;
}

// Enclosures of p(i,j) for all states.
class EnclosedSteps {
 public:
  EnclosedSteps(const CircularChains& chains, const EnclosureScale& scale) {
    const Whole range{static_cast<std::int64_t>(chains.range())};
    rows_.resize(chains.stations() + 1);
    leave_.resize(chains.stations() + 1, scale.whole(1));
    for (std::uint32_t i = 2; i <= chains.stations(); ++i) {
      const Whole all = Whole::power(range, i);
      rows_[i].assign(1, scale.whole(0));
      for (std::uint32_t j = 1; j <= i; ++j)
        rows_[i].push_back(scale.fraction(chains.at(i, j), all));
      leave_[i] = scale.fraction(all - chains.at(i, i), all);
    }
  }
  const Enclosure& at(std::uint32_t i, std::uint32_t j) const { return rows_[i][j]; }
  const Enclosure& leaving(std::uint32_t i) const { return leave_[i]; }

 private:
  std::vector<std::vector<Enclosure>> rows_;
  std::vector<Enclosure> leave_;
};

std::vector<Enclosure> enclosed_distribution(const CircularChains& chains, std::uint32_t last,
                                             const EnclosureScale& scale) {
  const std::uint32_t n = chains.stations();
  const EnclosedSteps steps(chains, scale);
  std::vector<Enclosure> result{scale.whole(n == 1 ? 1 : 0)};
  std::vector<Enclosure> at(n + 1, scale.whole(0));
  at[n] = scale.whole(1);
  for (std::uint32_t k = 1; k <= last; ++k) {
    std::vector<Enclosure> next(n + 1, scale.whole(0));
    for (std::uint32_t l = 2; l <= n; ++l)
      for (std::uint32_t j = 1; j <= l; ++j) next[j] += at[l] * steps.at(l, j);
    at = std::move(next);
    result.push_back(at[1]);
  }
  return result;
}

}  // namespace

std::vector<Number> RingTime::distribution(std::uint32_t first, std::uint32_t last) const {
  CHECK(first <= last && last <= kMaxRounds);
  const double bits =
      std::log2(static_cast<double>(range())) * static_cast<double>(stations()) * last;
  std::vector<Number> numbers;
  if (bits <= kMaxExactBits) {
    const std::vector<Fraction> exact = exact_distribution(chains_, last);
    for (std::uint32_t k = first; k <= last; ++k) numbers.push_back(number_of(exact[k]));
    return numbers;
  }
  return certified([&](const EnclosureScale& scale) {
    std::vector<Enclosure> all = enclosed_distribution(chains_, last, scale);
    all.erase(all.begin(), all.begin() + first);
    return all;
  });
}

Fraction RingTime::by_sum(std::uint32_t k) const {
  CHECK(stations() <= kMaxSummands && k <= kMaxSummands);
  // Path by path: `rounds` left from state i, of which d stay here before one leads on to j.
  const std::function<Fraction(std::uint32_t, std::uint32_t)> ways =
      [&](std::uint32_t i, std::uint32_t rounds) -> Fraction {
    if (i == 1) return rounds == 0 ? 1 : 0;
    Fraction sum = 0;
    const Fraction idle{1, Whole::power(static_cast<std::int64_t>(range()), i - 1)};
    for (std::uint32_t d = 0; d + 1 <= rounds; ++d) {
      const Fraction stay = Fraction::power(idle, d);
      for (std::uint32_t j = 1; j < i; ++j) {
        const Fraction onward = step(i, j);
        if (!onward.zero()) sum += stay * onward * ways(j, rounds - d - 1);
      }
    }
    return sum;
  };
  return ways(stations(), k);
}

namespace {

bool moments_fit(const RingTime& ring, std::uint32_t q) {
  const double n = ring.stations();
  return std::log2(static_cast<double>(ring.range())) * n * n / 2 * std::max(q, 1U) <=
         kMaxExactMomentBits;
}

std::vector<Fraction> exact_moments(const RingTime& ring, std::uint32_t q) {
  return raw_moments<Fraction>(
      ring.stations(), q, Fraction{0}, Fraction{1},
      [&](std::uint32_t i, std::uint32_t j) { return ring.step(i, j); },
      [&](const Fraction& sum, std::uint32_t i) { return sum / (Fraction{1} - ring.step(i, i)); });
}

std::vector<Enclosure> enclosed_moments(const RingTime& ring, std::uint32_t q,
                                        const EnclosureScale& scale) {
  const EnclosedSteps steps(ring.chains(), scale);
  return raw_moments<Enclosure>(
      ring.stations(), q, scale.whole(0), scale.whole(1),
      [&](std::uint32_t i, std::uint32_t j) -> const Enclosure& { return steps.at(i, j); },
      [&](const Enclosure& sum, std::uint32_t i) { return sum / steps.leaving(i); });
}

std::vector<Number> numbers_of(const std::vector<Fraction>& values) {
  std::vector<Number> numbers;
  for (const Fraction& value : values) numbers.push_back(number_of(value));
  return numbers;
}

}  // namespace

std::vector<Number> RingTime::moments(std::uint32_t q) const {
  CHECK(q <= kMaxMoments && (range() >= 2 || stations() == 1));
  if (moments_fit(*this, q)) return numbers_of(exact_moments(*this, q));
  return certified([&](const EnclosureScale& scale) { return enclosed_moments(*this, q, scale); });
}

std::vector<Number> RingTime::central_moments(std::uint32_t q) const {
  CHECK(q <= kMaxMoments && (range() >= 2 || stations() == 1));
  const std::uint32_t order = std::max(q, 1U);
  if (moments_fit(*this, order))
    return numbers_of(central(exact_moments(*this, order), Fraction{1}));
  return certified([&](const EnclosureScale& scale) {
    std::vector<Enclosure> all = central(enclosed_moments(*this, order, scale), scale.whole(1));
    all[1] = scale.whole(0);  // by definition; a subtraction has no first digit
    return all;
  });
}

std::vector<Number> RingTime::productive_moments() const {
  // The chain that leaves its state in every step: transition probabilities divided by the
  // probability of leaving.
  const auto central_two = [](const auto& raw, const auto& one) {
    auto all = central(raw, one);
    return std::vector{raw[1], all[2]};
  };
  if (moments_fit(*this, 2)) {
    const auto onward = [&](std::uint32_t i, std::uint32_t j) {
      return i == j ? Fraction{0} : step(i, j) / (Fraction{1} - step(i, i));
    };
    return numbers_of(
        central_two(raw_moments<Fraction>(stations(), 2, Fraction{0}, Fraction{1}, onward,
                                          [](const Fraction& sum, std::uint32_t) { return sum; }),
                    Fraction{1}));
  }
  return certified([&](const EnclosureScale& scale) {
    const EnclosedSteps steps(chains_, scale);
    const auto onward = [&](std::uint32_t i, std::uint32_t j) {
      return i == j ? scale.whole(0) : steps.at(i, j) / steps.leaving(i);
    };
    return central_two(
        raw_moments<Enclosure>(stations(), 2, scale.whole(0), scale.whole(1), onward,
                               [](const Enclosure& sum, std::uint32_t) { return sum; }),
        scale.whole(1));
  });
}

Fraction RingTime::bound(std::uint32_t k) const {
  const std::uint32_t n = stations();
  CHECK(n >= 2 && k >= n && k <= kMaxRounds);
  return {Whole::power(k, n - 2), Whole::power(static_cast<std::int64_t>(range()), k + 1 - n)};
}

double RingTime::growth() const {
  const auto m = static_cast<double>(range());
  return std::log(static_cast<double>(stations())) / std::log(2 * m / (m + 1));
}

}  // namespace tempo::analysis
