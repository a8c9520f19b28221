// How a command is described for CLI11. Only the files arguments*.cpp include it.
#pragma once

#include <functional>
#include <memory>

#include <CLI/CLI.hpp>

namespace tempo::cli {

// Adds a command below `parent`. `describe` adds its options; if the user typed this command, `run`
// becomes a call of `command` with the parsed options.
template <class Arguments>
void add_command(CLI::App& parent, std::function<int()>& run, const char* name, const char* help,
                 void (*describe)(CLI::App&, Arguments&), int (*command)(const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* described = parent.add_subcommand(name, help);
  describe(*described, *arguments);
  described->callback([&run, arguments, command] { run = [=] { return command(*arguments); }; });
}

template <class Arguments>
void describe_socket(CLI::App& command, Arguments& arguments) {
  command.add_option("--socket", arguments.socket, "control socket of tempod")
      ->envname("TEMPO_SOCKET")
      ->capture_default_str();
}

// For every command that sends requests to tempod.
template <class Arguments>
void describe_connection(CLI::App& command, Arguments& arguments) {
  describe_socket(command, arguments);
  command.add_option("--timeout", arguments.timeout, "longest wait for an answer from tempod")
      ->capture_default_str();
}

template <class Arguments>
void describe_json(CLI::App& command, Arguments& arguments) {
  command.add_flag("--json", arguments.json, "print JSON");
}

// For commands that use several threads.
template <class Arguments>
void describe_threads(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--threads", arguments.threads,
                  "number of threads; 0: one for each core. Results do not depend on it")
      ->capture_default_str();
}

}  // namespace tempo::cli
