// The command line of `tempo-lab`.
#pragma once

namespace tempo::cli {

// Runs the command that `words` ask for; the result is the exit status (exit_codes.h).
int run_lab_command_line(int count, char** words);

}  // namespace tempo::cli
