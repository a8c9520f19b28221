// `tempo check broadcast`: every interleaving of atomic broadcasts among a few processes.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct CheckBroadcastArguments {
  std::uint32_t nodes = 3;
  std::uint32_t faulty = 1;
  std::string faults = "omission";
  std::uint32_t delay = 1;  // ticks, at most
  std::uint32_t clock_error = 1;
  std::uint32_t speakers = 0;  // 0: 2, or the malicious one alone
  std::uint32_t losses = 0;
  std::uint32_t crashes = 0;
  std::uint32_t short_by = 0;
  bool no_relay = false;
  bool no_hop_test = false;
  std::string memory = "4G";
  std::uint32_t threads = 0;  // 1 or 2; 0: as many as there are cores, at most 2
  bool json = false;
};

int check_broadcast(const CheckBroadcastArguments& arguments);

}  // namespace tempo::cli
