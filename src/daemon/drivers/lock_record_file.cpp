#include "daemon/drivers/lock_record_file.h"

#include <utility>

#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

constexpr std::size_t kMaxRecordBytes = 4096;

}  // namespace

std::string lock_record_path(const std::string& state_dir) { return state_dir + "/locks"; }

SavedLocks read_lock_record(const std::string& state_dir, HostId host) {
  const std::string path = lock_record_path(state_dir);
  const sys::Record read = sys::read_record(path, kMaxRecordBytes);
  if (read.state == sys::FileState::absent) return {};
  if (read.state == sys::FileState::lost) return {.lost = read.error};
  auto record = locks::parse_lock_record(read.text);
  if (!record) return {.lost = path + " is no lock record"};
  if (record->host != host) return {};
  return {.record = std::move(record)};
}

}  // namespace tempo::daemon
