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

bool belongs_to_vip(std::string_view command) { return command == "vip"; }

namespace {

// Runs the program that is installed beside this one, in `beside` seen from there, or in PATH.
void execute(const std::string& name, const char* beside, char** argv) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    execv((self.parent_path() / name).c_str(), argv);
    execv((self.parent_path() / beside / name).c_str(), argv);
  }
  execvp(name.c_str(), argv);
}

}  // namespace

int forward_to_vip(char** argv) {
  std::string name = "tempo-vip";
  std::string status = "status";
  argv[1] = name.data();
  // Without arguments tempo-vip would serve the configured addresses.
  std::array<char*, 3> only_status{name.data(), status.data(), nullptr};
  execute(name, "../sbin", argv[2] == nullptr ? only_status.data() : argv + 1);
  print_error(
      "tempo: 'vip' is the command of tempo-vip, which is not installed; install the package "
      "'tempo-vip'\n");
  return kBadUsage;
}

int forward_to_lab(char** argv) {
  const std::string command = argv[1];
  std::string name = "tempo-lab";
  argv[0] = name.data();
  execute(name, ".", argv);
  print_error(
      "tempo: '{}' is a command of tempo-lab, which is not installed; install the package "
      "'tempo-lab'\n",
      command);
  return kBadUsage;
}

}  // namespace tempo::cli
