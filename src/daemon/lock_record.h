// What a daemon remembers of locks from one life to the next (doc/internals/lease.md, section 4):
// who votes, how often it started, and how far counts may have gone.
//
// One small text file beside the state, replaced as a whole. A file that is damaged, or another
// host's, counts as none: the rules for a member without a record then hold.
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
  std::string kernel{};  // the boot id of the kernel under which it was written
  Stage stage = Stage::proposed;
  std::vector<HostId> voters{};  // the first
  std::optional<locks::Saved> lease{};

  bool operator==(const LockRecord& other) const { return text() == other.text(); }
  std::string text() const;
};

std::optional<LockRecord> parse_lock_record(std::string_view text);

std::string lock_record_path(const std::string& state_dir);
std::optional<LockRecord> read_lock_record(const std::string& state_dir, HostId host);

}  // namespace tempo::daemon
