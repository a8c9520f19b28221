// The descendants of a process, as /proc shows them.
//
// Between two looks processes start and end: look again until none is left. A process that is being
// ended by a signal runs no more of its program and is not listed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tempo::cli {

struct Process {
  pid_t id = 0;
  std::string name{};  // of its program; empty: unknown
};

// Children of a process that have not been reaped, the dead ones too.
std::vector<pid_t> children_of(pid_t parent);

// Processes that these ones and their descendants are; none is dead. At most 65,536.
std::vector<Process> families_of(std::span<const pid_t> parents);

void signal_all(std::span<const Process> processes, int number);

std::string program_of(pid_t process);  // its name; empty: unknown

// "sleep (pid 7), job (pid 9) and 3 more".
std::string names_of(std::span<const Process> processes);

}  // namespace tempo::cli
