#include "lab/analysis/algorithm_c.h"

#include "base/check.h"

namespace tempo::analysis {

AlgorithmC::AlgorithmC(std::uint32_t candidates, const Fraction& loss)
    : steps_(candidates + 1, std::vector<Fraction>(candidates + 1, Fraction{0})) {
  CHECK(candidates >= 1 && candidates <= kMaxCandidates && loss >= Fraction{0} &&
        loss < Fraction{1});
  steps_[1][1] = 1;
  // The next lower candidate remains if it loses the messages of all candidates above it.
  for (std::uint32_t i = 2; i <= candidates; ++i) {
    const Fraction loses_all = Fraction::power(loss, i - 1);
    for (std::uint32_t j = 1; j <= i; ++j)
      steps_[i][j] =
          steps_[i - 1][j] * (Fraction{1} - loses_all) + steps_[i - 1][j - 1] * loses_all;
  }
}

Fraction AlgorithmC::mean_rounds(std::uint32_t a) const {
  CHECK(a >= 1 && a < steps_.size());
  std::vector<Fraction> means(a + 1, Fraction{0});
  means[1] = 1;
  for (std::uint32_t i = 2; i <= a; ++i) {
    Fraction sum = 1;
    for (std::uint32_t j = 1; j < i; ++j) sum += means[j] * steps_[i][j];
    means[i] = sum / (Fraction{1} - steps_[i][i]);
  }
  return means[a];
}

}  // namespace tempo::analysis
