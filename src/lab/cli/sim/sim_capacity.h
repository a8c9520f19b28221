// `tempo sim capacity`: elections by capacity in a simulated network, many times.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs, all at once.
struct SimCapacityArguments {
  std::string algorithm = "a";
  std::uint32_t nodes = 5;
  std::uint32_t candidates = 0;  // 0: all
  double loss = 0;
  std::uint32_t malicious = 0;
  std::uint32_t crash = 0;
  std::uint32_t pauses = 0;
  std::string bound = "10ms";
  std::string start_skew;  // empty: 0 for A, T for the others
  std::string clock_error = "0s";
  bool no_self_delivery = false;
  std::string broadcast = "ideal";  // or atomic
  std::string criterion = "random";
  std::string variant = "corrected";
  std::uint64_t seed = 1;
  std::uint64_t runs = 1000;
  std::uint32_t threads = 0;
  bool json = false;
};

int sim_capacity(const SimCapacityArguments& arguments);

}  // namespace tempo::cli
