#include "lab/sim/allan.h"

#include <cmath>
#include <cstddef>

namespace tempo::sim {

double allan_deviation(const std::vector<double>& phase, double step, double tau) {
  const auto m = static_cast<std::size_t>(std::lround(tau / step));
  if (m == 0 || phase.size() <= 2 * m) return 0;
  double sum = 0;
  for (std::size_t i = 0; i + 2 * m < phase.size(); ++i) {
    const double bend = phase[i + 2 * m] - 2 * phase[i + m] + phase[i];
    sum += bend * bend;
  }
  return std::sqrt(sum / (2 * tau * tau * static_cast<double>(phase.size() - 2 * m)));
}

}  // namespace tempo::sim
