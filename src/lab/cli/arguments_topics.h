// The commands of `tempo-lab` by topic, described for CLI11 in one file arguments_<topic>.cpp each.
// Parsing sets `run` to the command that the user typed.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tempo::cli {

void describe_analyze_commands(CLI::App& app, std::function<int()>& run);
void describe_check_commands(CLI::App& app, std::function<int()>& run);
void describe_report_commands(CLI::App& app, std::function<int()>& run);
void describe_sim_commands(CLI::App& app, std::function<int()>& run);
void describe_sweep_commands(CLI::App& app, std::function<int()>& run);

}  // namespace tempo::cli
