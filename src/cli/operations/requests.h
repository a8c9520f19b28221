// `tempo reelect`, and requests of other commands that tempod carries out or refuses.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

// Makes the master step down; the members elect a new one.
int reelect(const DaemonArguments& arguments);

// Sends the request; prints `done`, or tempod's answer as JSON.
int send_request(const DaemonArguments& arguments, const ipc::Request& request,
                 const std::string& done);

}  // namespace tempo::cli
