// Shell completion scripts, generated from the description that --help prints.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tempo::cli {

// The script for bash, zsh or fish; empty: another shell.
std::string completion_script(const CLI::App& app, std::string_view shell);

}  // namespace tempo::cli
