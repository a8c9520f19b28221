// `tempo trace`: switches tempod's trace on and off, and shows it while it grows.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int trace_switch(const DaemonArguments& arguments, bool on);
int trace_follow(const DaemonArguments& arguments);

}  // namespace tempo::cli
