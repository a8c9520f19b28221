// `tempo trace`: switches the trace of tempod on and off, and prints it as it grows.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int trace_switch(const DaemonArguments& arguments, bool on);
int trace_follow(const DaemonArguments& arguments);

}  // namespace tempo::cli
