#include "cli/locks/processes.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <signal.h>

namespace tempo::cli {
namespace {

constexpr std::size_t kMaxProcesses = 65'536;
constexpr std::size_t kMaxNames = 5;
constexpr std::uint64_t kExiting = 0x4;  // PF_EXITING of the kernel

// nullopt: it is dead, or about to be.
std::optional<Process> process_of(pid_t id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  std::stringstream text;
  text << file.rdbuf();
  const std::string line = text.str();
  const std::size_t begin = line.find('(');
  const std::size_t end = line.rfind(')');  // a name may contain parentheses
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(end + 1));
  char state = 'X';
  std::int64_t skipped = 0;
  std::uint64_t flags = 0;
  rest >> state;
  for (int i = 0; i < 5; ++i) rest >> skipped;  // parent, group, session, terminal, its group
  rest >> flags;
  if (state == 'Z' || state == 'X' || (flags & kExiting) != 0) return std::nullopt;
  return Process{.id = id, .name = line.substr(begin + 1, end - begin - 1)};
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", parent), ignored)) {
    std::ifstream file(thread.path() / "children");
    for (pid_t child = 0; children.size() < kMaxProcesses && file >> child;)
      children.push_back(child);
  }
  return children;
}

std::vector<Process> families_of(std::span<const pid_t> parents) {
  std::vector<pid_t> ids(parents.begin(), parents.end());
  std::vector<Process> processes;
  for (std::size_t i = 0; i < ids.size() && i < kMaxProcesses; ++i) {
    if (auto process = process_of(ids[i])) processes.push_back(*std::move(process));
    for (const pid_t child : children_of(ids[i])) ids.push_back(child);
  }
  return processes;
}

void signal_all(std::span<const Process> processes, int number) {
  for (const Process& process : processes) kill(process.id, number);
}

std::string program_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name;
}

std::string names_of(std::span<const Process> processes) {
  std::string text;
  for (std::size_t i = 0; i < processes.size() && i < kMaxNames; ++i)
    text += fmt::format("{}{} (pid {})", i == 0 ? "" : ", ",
                        processes[i].name.empty() ? "?" : processes[i].name, processes[i].id);
  if (processes.size() > kMaxNames)
    text += fmt::format(" and {} more", processes.size() - kMaxNames);
  return text;
}

}  // namespace tempo::cli
