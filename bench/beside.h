// Programs of the same build, which lie in the same directory as the benchmark.
#pragma once

#include <filesystem>
#include <string>

namespace tempo::bench {

inline std::string beside(const std::string& program) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
}

}  // namespace tempo::bench
