// The frame of a command line: it parses the words, prints help and version, and runs the command
// that was typed.
//
// Only files named arguments*.cpp include CLI11; a program passes the functions that describe its
// commands.
#pragma once

#include <functional>
#include <initializer_list>

namespace CLI {
class App;
}

namespace tempo::cli {

// Adds commands to `app`; `run` is set to the one that was typed.
using DescribeCommands = void (*)(CLI::App& app, std::function<int()>& run);

struct ProgramDescription {
  const char* name;     // as typed
  const char* summary;  // first line of --help
};

// Runs the command that `words` ask for; the result is the exit status (exit_codes.h).
int run_program(const ProgramDescription& program, std::initializer_list<DescribeCommands> commands,
                int count, char** words);

}  // namespace tempo::cli
