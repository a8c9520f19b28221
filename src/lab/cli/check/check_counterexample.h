// What a check has found, told step by step: for the commands that do not write a script of it.
#pragma once

#include <string>
#include <vector>

#include "lab/check/counterexample.h"
#include "lab/cli/check/check_search.h"

namespace tempo::cli {

struct Counterexample {
  check::Finding finding{};
  std::vector<std::string> prefix{};
  std::vector<std::string> cycle{};  // empty unless it goes in a circle
};

// Tells it with the assumptions under which it was found; `kept` is said if nothing is broken. The
// exit status.
int notify(const Counterexample& counterexample, const std::vector<std::string>& assumptions,
           const std::string& kept, bool json);

// Searches the space, and puts what was found into words.
template <class Model, class Words>
Counterexample find_counterexample(check::Space<Model>& space, const check::SearchOptions& options,
                                   const Words& words) {
  Counterexample counterexample{.finding = searched(space, options)};
  if (!counterexample.finding.violation) return counterexample;
  counterexample.prefix =
      check::describe_steps(space, counterexample.finding.violation->prefix, words);
  counterexample.cycle =
      check::describe_steps(space, counterexample.finding.violation->cycle, words);
  return counterexample;
}

}  // namespace tempo::cli
