#include "cli/check_search.h"

#include <fmt/core.h>

#include "cli/exit_codes.h"

namespace tempo::cli {

int refuse_check(const std::string& why) {
  fmt::print(stderr, "tempo check: {}\n", why);
  return kBadUsage;
}

double states_per_second(const check::Finding& finding) {
  return static_cast<double>(finding.states) / std::max(finding.seconds, 1e-9);
}

int status_of(const check::Finding& finding) {
  if (finding.violation) return kBrokenPromise;
  return finding.stopped == "interrupted" ? kInterrupted : kDone;
}

}  // namespace tempo::cli
