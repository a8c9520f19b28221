// `tempo members`: every machine this tempod knows of.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int members(const DaemonArguments& arguments);

}  // namespace tempo::cli
