// `tempo wait-sync`: waits until this machine is synchronized, for start-up scripts.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct WaitSyncArguments {
  DaemonArguments daemon;
  std::string timeout = "60s";  // longest time to wait
  std::string within = "1ms";   // largest error bound to accept
  bool alone = false;           // do not wait for another member or UTC
  bool utc = false;             // wait for UTC on this machine
};

int wait_sync(const WaitSyncArguments& arguments);

}  // namespace tempo::cli
