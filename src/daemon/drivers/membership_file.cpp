#include "daemon/drivers/membership_file.h"

#include <fmt/core.h>

#include "platform/host.h"
#include "platform/whole_file.h"
#include "protocol/lock/lock_record.h"
#include "protocol/membership/membership_record.h"

namespace tempo::daemon {
namespace {

constexpr std::size_t kMaxMembershipBytes = 4096;

}  // namespace

std::string membership_path(const std::string& state_dir) { return state_dir + "/membership"; }

SavedMembership read_membership(const std::string& state_dir, HostId host) {
  const std::string path = membership_path(state_dir);
  const sys::Record read = sys::read_record(path, kMaxMembershipBytes);
  if (read.state == sys::FileState::absent) return {};
  if (read.state == sys::FileState::lost) return {.lost = read.error};
  const auto saved = membership::parse_record(read.text);
  if (!saved) return {.lost = path + " is no membership record"};
  if (saved->host != host) return {.lost = path + " is the record of another machine"};
  if (!locks::same_place(saved->place, sys::place_of(state_dir)))
    return {.lost = path + " is a copy: it was written in another directory or on other hardware"};
  return {.record = saved->record};
}

std::string membership_text(const std::string& state_dir, HostId host,
                            const membership::Record& record) {
  return membership::text_of({.host = host, .place = sys::place_of(state_dir), .record = record});
}

Result<membership::Record> write_membership(const std::string& state_dir, HostId host,
                                            const std::optional<membership::Record>& last,
                                            std::string_view text) {
  const auto saved = membership::parse_record(text);
  std::string wrong = saved ? "" : "it is no membership record";
  if (saved && saved->host != host) wrong = "it names another machine";
  if (saved && last && saved->record.promised < last->promised) wrong = "its promise is lower";
  if (!wrong.empty())
    return std::unexpected(fmt::format("the worker's record is wrong: {}; restart tempod", wrong));
  if (auto written = sys::write_record(membership_path(state_dir), text); !written)
    return std::unexpected(written.error());
  return saved->record;
}

void WritesInProgress::begin(std::uint64_t number, const host::Records& records) {
  const Write write{.number = number,
                    .locks_number = records.locks_number,
                    .membership_number = records.membership_number};
  if (!writes_.empty() && (writes_.back().number == number || writes_.size() >= kMax))
    writes_.back() = write;
  else
    writes_.push_back(write);
}

std::uint64_t WritesInProgress::finish(std::uint32_t locks_number,
                                       std::uint32_t membership_number) {
  std::uint64_t done = 0;
  while (!writes_.empty() && writes_.front().locks_number <= locks_number &&
         writes_.front().membership_number <= membership_number) {
    done = writes_.front().number;
    writes_.pop_front();
  }
  return done;
}

}  // namespace tempo::daemon
