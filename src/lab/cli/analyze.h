// `tempo-lab analyze`: exact formulas of the papers for given parameters.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// The options as typed; the commands check them before they calculate anything.
struct AnalyzeRingArguments {
  std::uint32_t stations = 8;
  std::uint64_t range = 16;
  std::string rounds = "1..10";  // k or a range a..b
  std::uint32_t moments = 2;
  bool chains = false;
  bool json = false;
};

struct AnalyzeAnonymousArguments {
  std::uint32_t stages = 30;
  std::uint32_t candidates = 2;
  std::uint32_t stations = 0;  // 0: no figures about phases
  bool json = false;
};

struct AnalyzeCollisionArguments {
  std::uint32_t daemons = 2;
  std::string window;  // seconds or a span
  std::string width;   // seconds or a span
  bool json = false;
};

struct AnalyzeAlgorithmCArguments {
  std::string loss = "3/10";
  std::string candidates = "1..20";  // a or a range a..b
  bool json = false;
};

int analyze_ring(const AnalyzeRingArguments& arguments);
int analyze_anonymous_ring(const AnalyzeAnonymousArguments& arguments);
int analyze_collision(const AnalyzeCollisionArguments& arguments);
int analyze_algorithm_c(const AnalyzeAlgorithmCArguments& arguments);

}  // namespace tempo::cli
