// libtempo's picture of a daemon, from and to the snapshot of doc/reference/control-protocol.md.
#pragma once

#include "api/control_protocol.h"
#include "base/json.h"
#include "tempo/daemon.h"

namespace tempo {

// What is missing has its default.
Status status_of(const Json& snapshot);
Now now_of(const ipc::Now& now);
ipc::Now ipc_now_of(const Now& now);

// The snapshot of a daemon that knows just this.
Json snapshot_of(const Status& status);

}  // namespace tempo
