// A violated property: its name, the time, and the observation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/units.h"

namespace tempo::sim::election {

struct Violation {
  std::string property;
  Instant at;
  std::string seen;
};

// Violations of one run; all are counted, the first few are kept.
class Violations {
 public:
  void add(Violation violation) {
    ++count_;
    if (kept_.size() < kMaxKept) kept_.push_back(std::move(violation));
  }
  std::size_t count() const { return count_; }
  const std::vector<Violation>& kept() const { return kept_; }

 private:
  static constexpr std::size_t kMaxKept = 16;
  std::size_t count_ = 0;
  std::vector<Violation> kept_;
};

}  // namespace tempo::sim::election
