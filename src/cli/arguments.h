// The command line of `tempo`: its commands, their options and their help.
#pragma once

namespace tempo::cli {

// Runs the command that the user typed; the result is the exit status (exit_codes.h).
int run_command_line(int argc, char** argv);

}  // namespace tempo::cli
