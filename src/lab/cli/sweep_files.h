// What a sweep keeps of its work while it goes on: OUT.part, and one more for each further process.
// Whoever runs the same sweep again finds there what is done.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "lab/sweep/results.h"

namespace tempo::cli {

// The lines of all diaries of `out` that were written under this header.
sweep::Lines kept_lines(const std::string& out, const std::string& header);
// The sweep is done, or cannot be: what this process kept is not needed; the first process also
// forgets what others left.
void forget_lines(const std::string& out, std::uint32_t rank);

// A process's own, opened to add to it; one of another sweep is begun anew. What was added survives
// the process.
class SweepDiary {
 public:
  SweepDiary(const std::string& out, std::uint32_t rank, const std::string& header);
  void add(const std::string& line);

 private:
  std::ofstream file_;
};

}  // namespace tempo::cli
