// The result of a check as text or JSON, with the counterexample step by step. `check election`
// prints a script instead.
#pragma once

#include <string>
#include <vector>

#include "lab/check/counterexample.h"
#include "lab/cli/check/check_search.h"

namespace tempo::cli {

struct Counterexample {
  check::Finding finding{};
  std::vector<std::string> prefix{};  // steps to the violation
  std::vector<std::string> cycle{};   // steps that repeat after it; empty: no cycle
};

// Prints the result with the assumptions of the model; `success` is printed if no property is
// violated. Returns the exit status.
int print_result(const Counterexample& counterexample, const std::vector<std::string>& assumptions,
                 const std::string& success, bool json);

// Searches the space and describes a violation with `texts`.
template <class Model, class Texts>
Counterexample find_counterexample(check::Space<Model>& space, const check::SearchOptions& options,
                                   const Texts& texts) {
  Counterexample counterexample{.finding = searched(space, options)};
  if (!counterexample.finding.violation) return counterexample;
  counterexample.prefix =
      check::describe_steps(space, counterexample.finding.violation->prefix, texts);
  counterexample.cycle =
      check::describe_steps(space, counterexample.finding.violation->cycle, texts);
  return counterexample;
}

}  // namespace tempo::cli
