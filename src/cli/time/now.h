// `tempo now`: the network time and its error bounds.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int now(const DaemonArguments& arguments);

}  // namespace tempo::cli
