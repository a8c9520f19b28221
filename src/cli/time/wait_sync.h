// `tempo wait-sync`: waits until this machine is synchronized, for start-up scripts.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct WaitSyncArguments {
  DaemonArguments daemon;
  std::string timeout = "60s";  // longest time to wait
  std::string within = "1ms";   // largest error bound to accept
};

int wait_sync(const WaitSyncArguments& arguments);

}  // namespace tempo::cli
