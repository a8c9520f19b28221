// The lock record of this host: the record 'locks' in the state directory (platform/whole_file.h).
//
// The parent writes it, because a write may take long; without a parent the worker does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "platform/whole_file.h"
#include "protocol/lock/lock_record.h"

namespace tempo::daemon {

inline constexpr std::string_view kWriteLocks = "@write";      // to the parent: number, text
inline constexpr std::string_view kLocksWritten = "@written";  // from the parent: number
inline constexpr std::string_view kLocksNotWritten = "@unwritten";  // from the parent: the error

std::string lock_record_path(const std::string& state_dir);

struct SavedLocks {
  std::optional<locks::LockRecord> record{};  // unset: absent or lost
  std::string lost{};  // why a record that was written cannot be used; empty: it can, or is absent
};
SavedLocks read_lock_record(const std::string& state_dir, HostId host);
// The same for a record that was read from `path`.
SavedLocks saved_locks(const sys::Record& read, const std::string& path, HostId host);

}  // namespace tempo::daemon
