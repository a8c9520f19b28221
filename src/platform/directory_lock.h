// An exclusive lock on a directory: at most one daemon uses it.
//
// The kernel releases the lock when the last process that inherited the descriptor has ended, so a
// killed daemon leaves none behind. Nothing is written to the directory.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "platform/descriptor.h"

namespace tempo::sys {

// Waits up to `longest` for another process to release the lock. The descriptor holds the lock.
Result<Descriptor> lock_directory(const std::string& path, Nanos longest);

}  // namespace tempo::sys
