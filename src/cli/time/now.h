// `tempo now`: the network's time, and the bounds it is sure to lie in.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int now(const DaemonArguments& arguments);

}  // namespace tempo::cli
