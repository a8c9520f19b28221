// Converts between libtempo's Status and the snapshot of doc/reference/control-protocol.md.
#pragma once

#include "api/control_protocol.h"
#include "base/json.h"
#include "tempo/daemon.h"

namespace tempo {

// Missing fields keep their defaults.
Status status_of(const Json& snapshot);
Now now_of(const ipc::Now& now);
ipc::Now ipc_now_of(const Now& now);

// A snapshot with the fields of `status` only.
Json snapshot_of(const Status& status);

}  // namespace tempo
