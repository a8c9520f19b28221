// The commands of `tempo-lab` by topic, a file arguments_<topic>.cpp each, described for CLI11;
// `run` is set to the one that was typed.
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
