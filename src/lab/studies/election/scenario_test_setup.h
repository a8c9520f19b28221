// Common parts of the scenario tests. With TEMPO_SOAK in the environment they make the same
// statements about many more runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "lab/studies/election/scenario.h"

namespace tempo::sim::election {

inline constexpr NodeId kMaster{0};  // node 1, made master by `settled`
inline constexpr NodeId kSecond{1}, kThird{2}, kFourth{3}, kFifth{4};

inline bool soaking() { return std::getenv("TEMPO_SOAK") != nullptr; }
inline std::uint64_t seeds(std::uint64_t usual, std::uint64_t soak) {
  return soaking() ? soak : usual;
}

inline Setup setup_of(std::string_view profile, std::uint32_t nodes, std::uint32_t repeats = 4) {
  return {.nodes = nodes,
          .rules = {.timing = *tempo::election::profile(profile), .repeats = repeats}};
}

inline std::uint64_t count_of(const Outcome& outcome, tempo::election::Kind kind) {
  return outcome.messages[static_cast<std::size_t>(kind)];
}

// The command that repeats the run, and its violations.
inline std::string replay(Scenario scenario, std::string_view profile, const Setup& setup,
                          const Outcome& outcome) {
  std::string text = fmt::format(
      "tempo sim election --nodes {} --scenario {} --profile {} --delay {} --repeats {} --loss {} "
      "--duplicate {} --reorder {} --variant {} --seed {}{}",
      setup.nodes, name_of(scenario), profile, setup.link.delay.text(), setup.rules.repeats,
      setup.link.loss, setup.link.duplicate, setup.link.reorder, variant_text(setup.rules.variant),
      setup.seed, setup.rates.empty() ? "" : " (with different clock rates)");
  for (const Violation& violation : outcome.violations)
    text += fmt::format("\n  {} at {} ms: {}", violation.property, milliseconds(violation.at),
                        violation.seen);
  return text;
}

}  // namespace tempo::sim::election
