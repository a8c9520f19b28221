#include "cli/arguments.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/arguments_topics.h"
#include "cli/common/command_line.h"
#include "cli/forward.h"

namespace tempo::cli {

std::string help_end(const std::string& examples, const std::string& notes) {
  return (notes.empty() ? "" : notes + "\n\n") +
         "Exit status: 0 success, 1 the answer is \"no\", 2 bad usage, 3 tempod cannot be reached, "
         "4 refused;\nlock and elect: see tempo(1).\n\nExamples:\n" +
         examples;
}

void describe_daemon(CLI::App& command, DaemonArguments& arguments, const std::string& examples) {
  describe_connection(command, arguments);
  describe_json(command, arguments);
  command.footer(help_end(examples));
}

void add_daemon_command(CLI::App& app, std::function<int()>& run, const char* name,
                        const char* help, int (*command)(const DaemonArguments&),
                        const std::string& examples) {
  auto arguments = std::make_shared<DaemonArguments>();
  CLI::App* described = app.add_subcommand(name, help);
  describe_daemon(*described, *arguments, examples);
  described->callback([&run, arguments, command] { run = [=] { return command(*arguments); }; });
}

void describe_host(CLI::App& command, DaemonArguments& arguments) {
  command.add_option("-H,--host", arguments.host,
                     "ask this member, by name, address or id, through the network");
}

void add_remote_command(CLI::App& app, std::function<int()>& run, const char* name,
                        const char* help, int (*command)(const DaemonArguments&),
                        const std::string& examples) {
  auto arguments = std::make_shared<DaemonArguments>();
  CLI::App* described = app.add_subcommand(name, help);
  describe_daemon(*described, *arguments, examples);
  describe_host(*described, *arguments);
  described->callback([&run, arguments, command] { run = [=] { return command(*arguments); }; });
}

namespace {

// "tempo -H HOST status" is "tempo status -H HOST".
std::vector<char*> with_host_last(int argc, char** argv) {
  std::vector<char*> words(argv, argv + argc + 1);  // with the null pointer at the end, for exec
  const std::string_view first = argc > 3 ? argv[1] : "";
  if (first == "-H" || first == "--host") std::rotate(&words[1], &words[3], &words[4]);
  return words;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  std::vector<char*> words = with_host_last(argc, argv);
  argv = words.data();
  if (argc > 1 && belongs_to_lab(argv[1])) return forward_to_lab(argv);
  if (argc > 1 && belongs_to_vip(argv[1])) return forward_to_vip(argv);
  return run_program(
      {.name = "tempo",
       .summary = "tempo: one time, one leader, one lock, for a network of machines with no server "
                  "to set up.",
       .commands = {describe_time_commands, describe_lock_commands, describe_group_commands,
                    describe_operations_commands},
       .topics =
           {{"Time", {"status", "now", "members", "watch", "wait-sync", "set-time", "clockdiff"}},
            {"Locks",
             {"lock", "locks", "unlock", "configure", "forget", "admit", "replace", "fence-check"}},
            {"Groups", {"elect", "leader", "groups", "watch-group", "resign-group"}},
            {"Operations",
             {"doctor", "master", "reelect", "keygen", "keys", "invite", "join", "adopt", "trace",
              "classic", "demo", "completion"}}},
       .wrappers = {"lock", "elect"},
       .removed = {{"resign", "'resign' was merged into 'reelect'; run 'tempo reelect'"}}},
      argc, argv);
}

}  // namespace tempo::cli
