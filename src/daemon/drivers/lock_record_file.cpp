#include "daemon/drivers/lock_record_file.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "platform/clocks/boot_clock.h"
#include "platform/host.h"
#include "protocol/lock/lock_mail.h"

namespace tempo::daemon {
namespace {

constexpr std::size_t kMaxRecordBytes = 4096;

// The largest count in the text of a record of this host; 0: none that can be one.
std::uint64_t count_in(std::string_view text, HostId host) {
  const auto record = locks::parse_lock_record(text);
  if (!record || record->host != host) return 0;
  const std::uint64_t count = locks::highest_count(*record);
  return count <= locks::kMaxCount ? count : 0;
}

}  // namespace

std::string lock_record_path(const std::string& state_dir) { return state_dir + "/locks"; }

SavedLocks read_lock_record(const std::string& state_dir, HostId host, std::string_view place) {
  const std::string path = lock_record_path(state_dir);
  return saved_locks(sys::read_record(path, kMaxRecordBytes), path, host, place);
}

SavedLocks saved_locks(const sys::Record& read, const std::string& path, HostId host,
                       std::string_view place) {
  if (read.state == sys::FileState::absent) return {};
  SavedLocks saved{
      .highest = std::max(count_in(read.text, host), count_in(read.previous.value_or(""), host))};
  auto record = locks::parse_lock_record(read.text);
  if (read.state == sys::FileState::lost)
    saved.lost = read.error;
  else if (!record)
    saved.lost = path + " is no lock record";
  else if (record->host != host)
    saved.lost = fmt::format(
        "{0} is the record of another machine; restore it, or, if this machine is a clone of that "
        "one, remove {0} and {0}.old",
        path);
  else if (record->place == locks::kNowhere)
    saved.lost = path + " is older than what the other voters remember of this machine";
  else if (!locks::same_place(record->place, place))
    saved.lost = path + " is a copy: it was written in another directory or on other hardware";
  else
    saved.record = std::move(record);
  return saved;
}

std::string regression(const locks::LockRecord& old, const locks::LockRecord& fresh) {
  if (fresh.host != old.host) return "it names another machine";
  if (!old.lease) return "";
  if (!fresh.lease) return "it has no incarnation";
  if (fresh.lease->boot < old.lease->boot) return "its boot is lower";
  if (fresh.lease->reserve < old.lease->reserve) return "its reserve is lower";
  return "";
}

Result<locks::LockRecord> begin_lock_record_again(const std::string& state_dir, HostId host,
                                                  std::uint64_t count) {
  const locks::LockRecord fresh{.host = host,
                                .kernel = sys::kernel_boot_id(),
                                .place = sys::place_of(state_dir),
                                .above = std::max(count, highest_count_on_disk(state_dir, host))};
  if (auto written = sys::write_record(lock_record_path(state_dir), fresh.text()); !written)
    return std::unexpected(written.error());
  return fresh;
}

// A damaged generation counts too, as far as it can be read.
std::uint64_t highest_count_on_disk(const std::string& state_dir, HostId host) {
  const std::string path = lock_record_path(state_dir);
  std::uint64_t highest = 0;
  for (const std::string& file : {path, path + ".old", path + ".new"})
    highest = std::max(highest, count_in(sys::read_file(file, 2 * kMaxRecordBytes).text, host));
  return highest;
}

}  // namespace tempo::daemon
