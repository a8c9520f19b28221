// Path of a program of the same build, in the directory of the benchmark.
#pragma once

#include <filesystem>
#include <string>

namespace tempo::bench {

inline std::string beside(const std::string& program) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
}

}  // namespace tempo::bench
