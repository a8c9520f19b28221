// `tempo master`: who leads, on each network of this machine.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int master(const DaemonArguments& arguments);

}  // namespace tempo::cli
