// The commands of `tempo` by topic, described for CLI11 in one file arguments_<topic>.cpp each;
// `run` is set to the command that the user typed.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/common/arguments_command.h"
#include "cli/common/daemon.h"

namespace tempo::cli {

void describe_time_commands(CLI::App& app, std::function<int()>& run);
void describe_lock_commands(CLI::App& app, std::function<int()>& run);
void describe_group_commands(CLI::App& app, std::function<int()>& run);
void describe_operations_commands(CLI::App& app, std::function<int()>& run);

// End of every command's help: notes, exit statuses, examples.
std::string help_end(const std::string& examples, const std::string& notes = "");

// --socket, --timeout, --json and the end of the help.
void describe_daemon(CLI::App& command, DaemonArguments& arguments, const std::string& examples);

// A command without further options.
// -H, for the commands that another member can answer.
void describe_host(CLI::App& command, DaemonArguments& arguments);
void add_remote_command(CLI::App& app, std::function<int()>& run, const char* name,
                        const char* help, int (*command)(const DaemonArguments&),
                        const std::string& examples);
void add_daemon_command(CLI::App& app, std::function<int()>& run, const char* name,
                        const char* help, int (*command)(const DaemonArguments&),
                        const std::string& examples);

}  // namespace tempo::cli
