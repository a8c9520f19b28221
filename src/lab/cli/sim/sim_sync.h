// `tempo sim sync`: whole nodes keeping time in a simulated network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tempo::cli {

// As typed; texts are checked when the command runs.
struct SimSyncArguments {
  std::uint32_t clients = 4;
  std::string delay = "100us";
  std::string jitter = "exp:100us";
  std::string jitter_up{};    // empty: as `jitter`
  std::string jitter_down{};  // empty: as `jitter`
  double loss = 0;
  std::string offset = "5ms";
  std::string frequency = "50ppm";
  double wander = 1e-9;
  double white = 0;
  double aging = 0;
  std::string temperature = "0ppm";
  double worse_half = 1;
  bool isolated = false;
  double rate = 1;
  std::uint32_t seconds = 4000;
  std::uint32_t discard = 1000;
  std::string liars{};  // empty: nobody
  bool lying_master = false;
  std::uint32_t lies_from = 0;
  std::optional<std::uint32_t> kill_master_at{};
  std::optional<std::uint32_t> change_at{};
  std::string longer_up = "0";
  std::string later_jitter{};  // empty: no change
  std::string clock_jump = "0";
  std::string rate_jump = "0ppm";
  double diurnal = 0;
  std::uint32_t churn = 0;
  std::uint32_t trusted = 0;
  std::uint32_t utc_liars = 0;
  std::optional<std::uint32_t> leap_at{};
  std::uint64_t seed = 1;
  std::uint32_t seeds = 1;
  std::uint32_t threads = 0;
  std::string html{};  // a file
  bool json = false;
};

int sim_sync(const SimSyncArguments& arguments);

}  // namespace tempo::cli
