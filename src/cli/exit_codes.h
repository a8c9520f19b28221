// What a command's exit status says; the same in every command.
#pragma once

namespace tempo::cli {

inline constexpr int kDone = 0;
inline constexpr int kBrokenPromise = 1;  // it ran, and what it checked does not hold
inline constexpr int kBadUsage = 2;       // it was asked the impossible; nothing was done
inline constexpr int kNoDaemon = 3;       // tempod cannot be reached, or does not answer
inline constexpr int kRefused = 4;        // tempod said no
inline constexpr int kInterrupted = 130;  // Ctrl-C; what was done so far has been printed

}  // namespace tempo::cli
