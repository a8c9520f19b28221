#include "cli/forward.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {

bool belongs_to_lab(std::string_view command) {
  constexpr std::array<std::string_view, 7> kVerbs{"analyze", "check", "merge", "play",
                                                   "report",  "sim",   "sweep"};
  return std::ranges::find(kVerbs, command) != kVerbs.end();
}

int forward_to_lab(char** argv) {
  const std::string command = argv[1];
  std::string name = "tempo-lab";
  argv[0] = name.data();
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv((self.parent_path() / name).c_str(), argv);
  execvp(name.c_str(), argv);
  print_error(
      "tempo: '{}' is a command of tempo-lab, which is not installed; install the package "
      "'tempo-lab'\n",
      command);
  return kBadUsage;
}

}  // namespace tempo::cli
