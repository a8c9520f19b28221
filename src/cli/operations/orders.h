// `tempo reelect`, `tempo resign`: orders that tempod carries out or refuses.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

int reelect(const DaemonArguments& arguments);
int resign(const DaemonArguments& arguments);

// Sends the order; says `done` or prints tempod's answer as JSON.
int give_order(const DaemonArguments& arguments, const ipc::Request& request,
               const std::string& done);

}  // namespace tempo::cli
