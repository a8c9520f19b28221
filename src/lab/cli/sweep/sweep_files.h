// Files with the finished cells of a running sweep: OUT.part, and OUT.part.N for each further
// process. A later run of the same sweep resumes from them.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "lab/cli/sweep/results.h"

namespace tempo::cli {

// The lines of all part files of `out` that begin with this header.
sweep::Lines stored_lines(const std::string& out, const std::string& header);
// Removes the part file of this process; the first process removes all part files of `out`.
void remove_stored_lines(const std::string& out, std::uint32_t rank);

// The part file of one process, opened for appending; a file of another sweep is overwritten. Added
// lines survive the process.
class PartFile {
 public:
  PartFile(const std::string& out, std::uint32_t rank, const std::string& header);
  void add(const std::string& line);

 private:
  std::ofstream file_;
};

}  // namespace tempo::cli
