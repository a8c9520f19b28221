// The parent process: starts the worker; when the worker dies it notifies the network and starts
// another.
//
// The crash hint spares the other members the wait for an election timer. A worker that exits
// cleanly ends its parent too; a worker that dies repeatedly is restarted with growing pauses.
// Hooks run here, because the worker may not start programs.
#pragma once

#include <expected>
#include <functional>
#include <vector>

#include "api/settings.h"
#include "daemon/daemon_identity.h"

namespace tempo::daemon {

// The current settings, or every mistake in them; called on SIGHUP.
using ReadSettings = std::function<std::expected<config::Settings, std::vector<config::Mistake>>()>;

// Runs until the worker exits cleanly; returns the exit status of the program.
int run_with_parent(DaemonIdentity identity, ReadSettings read_settings);

// Runs the worker in this process, without a parent.
int run_standalone(DaemonIdentity identity);

}  // namespace tempo::daemon
