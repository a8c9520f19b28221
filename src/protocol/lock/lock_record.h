// The lock record, kept across restarts (doc/internals/lease.md, section 4): the voters, the number
// of starts, and the reserved counts.
//
// One small text file in the state directory, replaced atomically. A damaged file, or that of
// another host, counts as none; the rules for a member without a record apply then.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "protocol/lock/bootstrap.h"
#include "protocol/lock/lock_service.h"

namespace tempo::daemon {

struct LockRecord {
  using Stage = lock::Bootstrap::Stage;

  HostId host = kNoHost;
  std::string kernel{};  // boot id of the kernel that was running when it was written
  Stage stage = Stage::proposed;
  std::vector<HostId> voters{};  // the first voters
  std::optional<locks::Saved> lease{};

  bool operator==(const LockRecord& other) const { return text() == other.text(); }
  std::string text() const;
};

std::optional<LockRecord> parse_lock_record(std::string_view text);

std::string lock_record_path(const std::string& state_dir);
std::optional<LockRecord> read_lock_record(const std::string& state_dir, HostId host);

}  // namespace tempo::daemon
