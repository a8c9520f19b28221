// The lock record of this host: one file in the state directory, replaced atomically.
//
// The parent writes it, because a write may take long; without a parent the worker does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "protocol/lock/lock_record.h"

namespace tempo::daemon {

inline constexpr std::string_view kWriteLocks = "@write";      // to the parent: number, text
inline constexpr std::string_view kLocksWritten = "@written";  // from the parent: number

std::string lock_record_path(const std::string& state_dir);
// Unset: there is none, it is damaged, or it belongs to another host.
std::optional<locks::LockRecord> read_lock_record(const std::string& state_dir, HostId host);

}  // namespace tempo::daemon
