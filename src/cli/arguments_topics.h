// The commands of `tempo` by topic, a file arguments_<topic>.cpp each, described for CLI11; `run`
// is set to the one that was typed.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tempo::cli {

void describe_daemon_commands(CLI::App& app, std::function<int()>& run);
void describe_group_commands(CLI::App& app, std::function<int()>& run);
void describe_lock_commands(CLI::App& app, std::function<int()>& run);

}  // namespace tempo::cli
