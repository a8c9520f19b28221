// Exit statuses, the same for every command of tempo, tempo-lab and tempod.
#pragma once

#include <string_view>

namespace tempo::cli {

inline constexpr int kDone = 0;
inline constexpr int kViolation =
    1;  // the answer is "no": no master, not synchronized, a property violated
inline constexpr int kBadUsage = 2;  // bad arguments or configuration; nothing was done
inline constexpr int kNoDaemon = 3;  // tempod cannot be reached, or does not answer
inline constexpr int kRefused = 4;   // tempod refused the request
// Commands that run another command pass on its exit status, and use these for their own.
inline constexpr int kNotObtained = 100;   // timed out waiting for the lock
inline constexpr int kLockLost = 101;      // the lock was lost; the command was stopped
inline constexpr int kLockNoDaemon = 102;  // tempod cannot be reached
inline constexpr int kLockRefused = 103;   // tempod refused the request
inline constexpr int kRanOn = 104;  // the lock was lost; not all of the command was stopped in time
inline constexpr int kNoMajority = 105;  // too few voters are reachable
inline constexpr int kNoVoters = 106;    // the machines have not agreed on the voters
inline constexpr int kAbstaining = 107;  // leases granted before a restart may still be valid
inline constexpr int kNoRecord =
    108;  // the lock record is no good, or another machine has the same id
inline constexpr int kWrongKind = 109;    // the lock is used with another --kind
inline constexpr int kInterrupted = 130;  // Ctrl-C; the results so far were printed

// The status as JSON errors name it.
std::string_view status_name(int status);

}  // namespace tempo::cli
