// The lock record of this host: the record 'locks' in the state directory (platform/whole_file.h).
//
// The parent writes it, because a write may take long; without a parent the worker does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "platform/whole_file.h"
#include "protocol/lock/lock_record.h"

namespace tempo::daemon {

inline constexpr std::string_view kWriteLocks = "@write";           // to the parent: number, text
inline constexpr std::string_view kLocksWritten = "@written";       // from the parent: number
inline constexpr std::string_view kLocksNotWritten = "@unwritten";  // from the parent: the error
// To the parent: a count. A new record begins above it and above all that can be read here.
inline constexpr std::string_view kBeginLocksAgain = "@again";

std::string lock_record_path(const std::string& state_dir);

struct SavedLocks {
  std::optional<locks::LockRecord> record{};  // unset: absent or lost
  std::uint64_t highest = 0;  // largest count in a record of this host that can be read
  std::string lost{};  // why a record that was written cannot be used; empty: it can, or is absent
};
// `place`: where the record is now (sys::place_of).
SavedLocks read_lock_record(const std::string& state_dir, HostId host, std::string_view place);
// The same for a record that was read from `path`.
SavedLocks saved_locks(const sys::Record& read, const std::string& path, HostId host,
                       std::string_view place);

// Why `fresh` must not replace `old`, the last record that was written here: it would take back
// counts or incarnations. Empty: it may.
std::string regression(const locks::LockRecord& old, const locks::LockRecord& fresh);

// Replaces the record by one without voters, whose counts begin above `count` and above every count
// in a record here that can be read.
Result<locks::LockRecord> begin_lock_record_again(const std::string& state_dir, HostId host,
                                                  std::uint64_t count);

// The largest count in any file of the record of this host that can be read; 0: none.
std::uint64_t highest_count_on_disk(const std::string& state_dir, HostId host);

}  // namespace tempo::daemon
