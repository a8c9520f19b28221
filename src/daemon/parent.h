// The parent that only waits: it starts the worker, and when the worker dies it tells the network
// at once and starts another.
//
// The crash hint saves the others the wait for an election timer. A worker that ends cleanly ends
// its parent too; one that dies again and again is started less and less often. Hooks run here: the
// worker may start no program.
#pragma once

#include <expected>
#include <functional>
#include <vector>

#include "api/settings.h"
#include "daemon/daemon_identity.h"

namespace tempo::daemon {

// The settings as they are now, or every mistake in them: for SIGHUP.
using ReadSettings = std::function<std::expected<config::Settings, std::vector<config::Mistake>>()>;

// Until the worker ends cleanly; the exit status of the program.
int run_with_parent(DaemonIdentity identity, ReadSettings read_settings);

// The worker alone, in this process.
int run_standalone(DaemonIdentity identity);

}  // namespace tempo::daemon
