// `tempo reelect`, and orders of other commands that tempod carries out or refuses.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

// Makes the master step down; the members elect a new one.
int reelect(const DaemonArguments& arguments);

// Sends the order; prints `done`, or tempod's answer as JSON. `check`: as for `order`.
int send_order(const DaemonArguments& arguments, const ipc::Request& request,
               const std::string& done, const char* check);

}  // namespace tempo::cli
