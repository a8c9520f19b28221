// Command line of a program: parses the arguments, prints help and version, suggests corrections of
// misspelt commands and options, prints shell completions, and runs the command.
//
// Only files named arguments*.cpp include CLI11; a program passes the functions that describe its
// commands.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tempo::cli {

// Adds commands to `app`; `run` is set to the one that was typed.
using DescribeCommands = void (*)(CLI::App& app, std::function<int()>& run);

// Commands under one heading of --help, in the order they are listed.
struct Topic {
  const char* heading;
  std::vector<const char*> commands;
};

// A command that no longer exists; the message names its replacement.
struct RemovedCommand {
  std::string_view name;
  std::string_view message;
};

struct ProgramDescription {
  const char* name;     // as typed
  const char* summary;  // first line of --help
  std::vector<DescribeCommands> commands;
  std::vector<Topic> topics;
  // Commands that leave standard output to the command they run: their JSON goes to standard error.
  std::vector<std::string_view> wrappers{};
  std::vector<RemovedCommand> removed{};
};

// Runs the command that `argv` names; the result is the exit status (exit_codes.h).
int run_program(const ProgramDescription& program, int argc, char** argv);

}  // namespace tempo::cli
