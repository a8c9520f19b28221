// The commands about locks, described for CLI11; `run` is set to the one that was given.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tempo::cli {

void describe_lock_commands(CLI::App& app, std::function<int()>& run);

}  // namespace tempo::cli
