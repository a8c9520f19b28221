// The membership record of this host: the record 'membership' in the state directory
// (platform/whole_file.h).
//
// The parent writes it, as it does the lock record. A record that is lost, or that was written on
// another machine or in another directory, is not used: this machine is then another member.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "protocol/host/host.h"

namespace tempo::daemon {

inline constexpr std::string_view kWriteMembership = "@view-write";      // to the parent
inline constexpr std::string_view kMembershipWritten = "@view-stored";   // from the parent: number
inline constexpr std::string_view kMembershipNotWritten = "@view-lost";  // from it: the error

std::string membership_path(const std::string& state_dir);

struct SavedMembership {
  std::optional<membership::Record> record{};  // unset: absent or lost
  std::string lost{};  // why a record that was written cannot be used; empty: it can, or is absent
};
SavedMembership read_membership(const std::string& state_dir, HostId host);

// The text of a record of this host, to be written there.
std::string membership_text(const std::string& state_dir, HostId host,
                            const membership::Record& record);

// Writes such a text; an error if it is no record of this host, or takes a promise back that `last`
// has made. `last`: the last record that was written here; unset: none.
Result<membership::Record> write_membership(const std::string& state_dir, HostId host,
                                            const std::optional<membership::Record>& last,
                                            std::string_view text);

// Which writes of the host (Runtime) are done, when each part has a file of its own.
class WritesInProgress {
 public:
  void begin(std::uint64_t number, const host::Records& records);
  // All records up to these numbers are on the disk. Returns the newest write that is done; 0:
  // none.
  std::uint64_t finish(std::uint32_t locks_number, std::uint32_t membership_number);
  bool empty() const { return writes_.empty(); }

 private:
  static constexpr std::size_t kMax = 32;

  struct Write {
    std::uint64_t number = 0;
    std::uint32_t locks_number = 0;
    std::uint32_t membership_number = 0;
  };
  std::deque<Write> writes_;  // oldest first
};

}  // namespace tempo::daemon
