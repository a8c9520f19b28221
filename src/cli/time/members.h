// `tempo members`: the machines that this tempod knows.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int members(const DaemonArguments& arguments);

}  // namespace tempo::cli
