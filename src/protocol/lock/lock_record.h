// The lock record, kept across restarts (doc/internals/lease.md, section 4): the voters, the number
// of starts, and the reserved counts.
//
// On disk it is one small text. A damaged text, or that of another host, is a lost record, not one
// that was never written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "protocol/lock/bootstrap.h"
#include "protocol/lock/lease_service.h"

namespace tempo::locks {

struct LockRecord {
  using Stage = lock::Bootstrap::Stage;

  HostId host = kNoHost;
  std::string kernel{};  // boot id of the kernel that was running when it was written
  Stage stage = Stage::proposed;
  std::vector<HostId> voters{};  // the first voters
  std::optional<Saved> lease{};

  bool operator==(const LockRecord& other) const { return text() == other.text(); }
  std::string text() const;
};

std::optional<LockRecord> parse_lock_record(std::string_view text);

}  // namespace tempo::locks
