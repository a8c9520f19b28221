// `tempo report`: every claim of the papers, reproduced on one page.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct ReportArguments {
  std::string paper = "all";
  bool glance = false;
  bool quick = false;
  bool full = false;
  std::string out = "tempo-report";
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;
  bool json = false;
};

int report_papers(const ReportArguments& arguments);

}  // namespace tempo::cli
