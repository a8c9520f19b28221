// The lock record, kept across restarts (doc/internals/lease.md, section 4): the voters, the number
// of starts, the reserved counts, and the place where it was written: a copy is somewhere else.
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

// The place of a record that must not be used again.
inline constexpr std::string_view kNowhere = "nowhere";

struct LockRecord {
  using Stage = lock::Bootstrap::Stage;

  HostId host = kNoHost;
  std::string kernel{};  // boot id of the kernel that was running when it was written
  std::string place{};   // machine and directory where it was written; empty: not known
  Stage stage = Stage::proposed;
  std::uint64_t number = 0;      // random; names the voting set with the first voters
  std::uint64_t above = 0;       // counts of a new voting set begin above this one
  std::vector<HostId> voters{};  // the first voters
  std::optional<Saved> lease{};

  bool operator==(const LockRecord& other) const { return text() == other.text(); }
  std::string text() const;
};

// The largest count that `record` says may have been in use; 0: none.
std::uint64_t highest_count(const LockRecord& record);

// Whether a record that was written at one place can have been read at the other: no part that is
// known of both differs.
bool same_place(std::string_view one, std::string_view other);

std::optional<LockRecord> parse_lock_record(std::string_view text);

}  // namespace tempo::locks
