// Commands that moved to tempo-lab: `tempo sim ...` still works where tempo-lab is installed.
#pragma once

#include <string_view>

namespace tempo::cli {

bool belongs_to_lab(std::string_view command);

// Replaces this process by tempo-lab with the same arguments: the program beside this one, else the
// first on PATH. Returns an exit status only if there is none; the error names the package.
int forward_to_lab(char** argv);

}  // namespace tempo::cli
