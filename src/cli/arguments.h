// The command line of `tempo`: what can be typed, and the help that says so.
#pragma once

namespace tempo::cli {

// Runs the command that is asked for; the result is the exit status (exit_codes.h).
int run_command_line(int count, char** words);

}  // namespace tempo::cli
