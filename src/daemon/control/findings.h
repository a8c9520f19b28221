// Problems that the daemon finds in its own state, for `tempo doctor`.
#pragma once

#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"

namespace tempo::daemon {

std::vector<ipc::Finding> findings_in(const obs::Snapshot& shot);

}  // namespace tempo::daemon
