// The command line of `tempo-lab`.
#pragma once

namespace tempo::cli {

// Runs the command on the command line; returns the exit status (exit_codes.h).
int run_lab_command_line(int argc, char** argv);

}  // namespace tempo::cli
