// `tempo sim app`: what elections are for, in a simulated network; without a name, a list of it.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct SimAppArguments {
  std::string name;  // empty: all are listed
  std::uint32_t nodes = 5;
  std::uint64_t runs = 0;  // 0: many, or one if it is shown
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  double loss = 0;
  std::uint32_t crash = 1;
  std::string variant = "corrected";
  bool trace = false;
  std::string diagram;  // a file, or - for the terminal
  bool json = false;
};

int sim_app(const SimAppArguments& arguments);

}  // namespace tempo::cli
