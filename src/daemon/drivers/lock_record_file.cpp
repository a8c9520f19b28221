#include "daemon/drivers/lock_record_file.h"

#include <utility>

#include <fmt/core.h>

namespace tempo::daemon {
namespace {

constexpr std::size_t kMaxRecordBytes = 4096;

}  // namespace

std::string lock_record_path(const std::string& state_dir) { return state_dir + "/locks"; }

SavedLocks read_lock_record(const std::string& state_dir, HostId host) {
  const std::string path = lock_record_path(state_dir);
  return saved_locks(sys::read_record(path, kMaxRecordBytes), path, host);
}

SavedLocks saved_locks(const sys::Record& read, const std::string& path, HostId host) {
  if (read.state == sys::FileState::absent) return {};
  if (read.state == sys::FileState::lost) return {.lost = read.error};
  auto record = locks::parse_lock_record(read.text);
  if (!record) return {.lost = path + " is no lock record"};
  if (record->host != host)
    return {
        .lost = fmt::format(
            "{0} is the record of another machine; restore it, or, if this machine is a clone of "
            "that one, remove {0} and {0}.old",
            path)};
  return {.record = std::move(record)};
}

}  // namespace tempo::daemon
