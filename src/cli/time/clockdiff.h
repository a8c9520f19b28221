// `tempo clockdiff`: offsets of some members' clocks from the network time.
#pragma once

#include <string>
#include <vector>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct ClockdiffArguments {
  DaemonArguments daemon;
  std::vector<std::string> hosts;
};

int clockdiff(const ClockdiffArguments& arguments);

}  // namespace tempo::cli
