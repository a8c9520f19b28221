// What a command's exit status says; the same in every command.
#pragma once

namespace tempo::cli {

inline constexpr int kDone = 0;
inline constexpr int kViolation = 1;  // it ran, and what it checked does not hold
inline constexpr int kBadUsage = 2;   // it was asked the impossible; nothing was done
inline constexpr int kNoDaemon = 3;   // tempod cannot be reached, or does not answer
inline constexpr int kRefused = 4;    // tempod said no
// Of commands that run another, whose own exit status they pass on.
inline constexpr int kNotObtained = 100;   // the lock was not to be had in time
inline constexpr int kLockLost = 101;      // it could not be kept; the command was stopped
inline constexpr int kLockNoDaemon = 102;  // tempod cannot be reached
inline constexpr int kLockRefused = 103;   // tempod said no
inline constexpr int kInterrupted = 130;   // Ctrl-C; what was done so far has been printed

}  // namespace tempo::cli
