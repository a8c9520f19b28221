// `tempo master`: the master of each network of this machine.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int master(const DaemonArguments& arguments);

}  // namespace tempo::cli
