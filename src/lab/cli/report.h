// `tempo-lab report`: reproduces every claim of the papers on one page.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// The options as typed; the command checks them before it runs anything.
struct ReportArguments {
  std::string paper = "all";
  bool glance = false;
  bool quick = false;
  bool full = false;
  std::string out = "tempo-report";  // a directory
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  bool json = false;
};

int report_papers(const ReportArguments& arguments);

}  // namespace tempo::cli
