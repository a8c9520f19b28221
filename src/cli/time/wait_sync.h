// `tempo wait-sync`: ends when this machine has the network's time, for start-up scripts.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct WaitSyncArguments {
  DaemonArguments daemon;
  std::string timeout = "60s";
  std::string within = "1ms";
};

int wait_sync(const WaitSyncArguments& arguments);

}  // namespace tempo::cli
