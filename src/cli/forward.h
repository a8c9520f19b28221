// Commands that other programs carry out: `tempo sim ...` by tempo-lab, `tempo vip ...` by tempo-vip.
#pragma once

#include <string_view>

namespace tempo::cli {

bool belongs_to_lab(std::string_view command);
bool belongs_to_vip(std::string_view command);

// Replaces this process by tempo-lab with the same arguments: the program beside this one, else the
// first on PATH. Returns an exit status only if there is none; the error names the package.
int forward_to_lab(char** argv);
// The same by tempo-vip, without the word `vip`; `tempo vip` alone is `tempo vip status`.
int forward_to_vip(char** argv);

}  // namespace tempo::cli
