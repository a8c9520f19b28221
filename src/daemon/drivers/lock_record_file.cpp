#include "daemon/drivers/lock_record_file.h"

#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

constexpr std::size_t kMaxRecordBytes = 4096;

}  // namespace

std::string lock_record_path(const std::string& state_dir) { return state_dir + "/locks"; }

std::optional<locks::LockRecord> read_lock_record(const std::string& state_dir, HostId host) {
  const auto record =
      locks::parse_lock_record(sys::read_file(lock_record_path(state_dir), kMaxRecordBytes).text);
  if (!record || record->host != host) return std::nullopt;
  return record;
}

}  // namespace tempo::daemon
