// `tempo check capacity`: every interleaving of an election by capacity of a few processes.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct CheckCapacityArguments {
  std::string algorithm = "b1";
  std::uint32_t nodes = 0;       // 0: 3, or as many as the malicious need
  std::uint32_t candidates = 0;  // 0: 2, or 1 where somebody lies
  std::uint32_t malicious = 0;
  std::uint32_t crashes = 0;
  std::uint32_t losses = 0;
  std::uint32_t pauses = 0;
  std::uint32_t delay = 1;  // ticks, at most
  std::uint32_t start_skew = 0;
  bool together = false;
  bool no_self_delivery = false;
  std::string variant = "corrected";
  std::string memory = "4G";
  std::uint32_t threads = 0;  // 1 or 2; 0: as many as there are cores, at most 2
  bool json = false;
};

int check_capacity(const CheckCapacityArguments& arguments);

}  // namespace tempo::cli
