// `tempo sim election`: TEMPO's master election in a simulated network, once or many times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs, all at once.
struct SimElectionArguments {
  std::uint32_t nodes = 5;
  std::string scenario = "start";
  std::string profile = "lan";
  std::string election_timer;            // a..b; empty: the profile's
  std::optional<std::uint32_t> repeats;  // unset: 4, or 0 where the variant has none
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;
  std::string delay = "uniform:100us..2ms";
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  std::string until;          // a span; empty: as long as it may take
  std::string variant = "corrected";
  bool trace = false;
  std::string diagram;  // a file, or - for the terminal
  std::string script;   // a file
  bool baselines = false;
  bool json = false;
};

int sim_election(const SimElectionArguments& arguments);

}  // namespace tempo::cli
