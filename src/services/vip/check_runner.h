// Runs the check commands in a child process that has no capability, because tempo-vip itself may
// start no program.
//
// The child runs each command at its interval, one run of it at a time, and reports its exit
// status. A command that lasts longer than kLimit is killed and counts as failed. The child ends
// with its parent; if it dies, every check counts as failed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/units.h"
#include "platform/descriptor.h"

namespace tempo::vip {

class CheckRunner {
 public:
  static constexpr Nanos kLimit = 5s;

  struct Check {
    std::string command;
    Nanos interval{1s};
  };

  // Starts the child, which gives up its capabilities and becomes `user` (empty: keeps its user).
  static Result<CheckRunner> start(std::vector<Check> checks, const std::string& user);
  CheckRunner() = default;  // without checks
  CheckRunner(CheckRunner&&) noexcept = default;
  CheckRunner& operator=(CheckRunner&&) noexcept = default;

  int descriptor() const { return results_.number(); }  // -1: none
  // Reports the results that have arrived: number of the check, and whether it passed. False: the
  // child is gone.
  bool take(const std::function<void(std::size_t, bool)>& each) const;

 private:
  sys::Descriptor results_;
};

}  // namespace tempo::vip
