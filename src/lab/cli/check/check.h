// `tempo check`: every interleaving of a small world, and `tempo sim replay`, which plays again
// what it found.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct CheckElectionArguments {
  std::uint32_t nodes = 3;
  std::uint32_t losses = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t crashes = 0;
  std::uint32_t restarts = 0;
  std::uint32_t pauses = 0;
  std::string timing = "bounded";
  std::string network = "bag";
  std::string profile = "tiny";
  std::string delay = "1..2";  // ticks
  std::string starts;          // ticks, separated by commas; empty: sixteen apart
  std::string cut;             // nodes on one side, separated by commas
  std::uint32_t cut_until = 0;
  std::uint32_t candidacies = 1;
  std::string variant = "corrected";
  std::string memory = "4G";
  bool fingerprints = false;
  std::uint32_t threads = 0;  // 1 or 2; 0: as many as there are cores, at most 2
  std::string replay;         // a file to write
  std::string diagram;        // a file, or - for the terminal
  bool explore = false;
  bool json = false;
};

struct CheckCoreArguments {
  std::uint32_t nodes = 2;
  std::uint32_t timeouts = 1;
  std::uint32_t capacity = 1;
  bool symmetry = false;
  std::string memory = "4G";
  bool fingerprints = false;
  std::uint32_t threads = 0;
  bool json = false;
};

int check_election(const CheckElectionArguments& arguments);
int check_core_model(const CheckCoreArguments& arguments);

}  // namespace tempo::cli
