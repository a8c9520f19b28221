// Speed and memory of the checker on a reference model with 4,855,301 states, on one core and on
// two.
//
// Targets of doc/internals/checking.md: on one core a million states per second and at most 48
// bytes per state. SPIN visits 219 thousand per second at 120 bytes, stateright 280 to 500 thousand
// (same model, another machine).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fmt/core.h>

#include "lab/check/core_model.h"
#include "lab/check/explore.h"

namespace tempo::check {
namespace {

constexpr int kRuns = 5;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Measured {
  double states_per_second;
  double bytes_per_state;
};

Measured measure(unsigned threads) {
  std::vector<double> speed;
  double bytes = 0;
  for (int run = 0; run < kRuns; ++run) {
    const CoreModel model{1};
    Space<CoreModel> space(model, core_freedom(3, 1, false));
    const Finding finding = Search<CoreModel>(space, {.threads = threads}).run();
    if (finding.states != 4'855'301) {
      fmt::print(stderr, "the reference model has {} states, not 4,855,301\n", finding.states);
      std::exit(1);
    }
    speed.push_back(static_cast<double>(finding.states) / finding.seconds);
    bytes = static_cast<double>(finding.bytes) / static_cast<double>(finding.states);
  }
  return {median(speed), bytes};
}

void report() {
  fmt::print("checker, core model N = 3 (medians of {})\n", kRuns);
  const Measured one = measure(1);
  const Measured two = measure(2);
  fmt::print("{:>8} {:>14} {:>12}\n", "threads", "states/s", "bytes/state");
  fmt::print("{:>8} {:>14.0f} {:>12.1f}\n", 1, one.states_per_second, one.bytes_per_state);
  fmt::print("{:>8} {:>14.0f} {:>12.1f}\n", 2, two.states_per_second, two.bytes_per_state);
  fmt::print("targets: one core, 1 M states/s and 48 bytes/state: {}\n",
             one.states_per_second >= 1e6 && one.bytes_per_state <= 48 ? "met" : "NOT met");
}

}  // namespace
}  // namespace tempo::check

int main() {
  tempo::check::report();
  return 0;
}
