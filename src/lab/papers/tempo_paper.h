// Gusella & Zatti 1985: TEMPO's election.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/papers/experiment.h"
#include "lab/studies/election/scenario.h"

namespace tempo::papers {

const std::vector<Experiment>& tempo_experiments();

// Defined in separate files.
Findings tempo_collisions(Workshop& workshop);
Findings tempo_hypotheses(Workshop& workshop);
Findings tempo_errata(Workshop& workshop);

// Common to these files.
inline Statement cited_tempo(std::string section, std::string says) {
  return {Paper::tempo, std::move(section), std::move(says)};
}

// Without repeats; messages take a millisecond.
inline sim::election::Setup plain_setup(std::string_view profile, std::uint32_t nodes) {
  return {.nodes = nodes,
          .rules = {.timing = *election::profile(profile), .repeats = 0},
          .link = {.delay = sim::Delay::constant(1ms)}};
}

inline std::vector<sim::election::Outcome> elections(Workshop& workshop,
                                                     sim::election::Scenario scenario,
                                                     const sim::election::Setup& setup,
                                                     std::uint64_t runs, Nanos until = Nanos{0}) {
  return gathered(workshop, runs, [&](std::uint64_t number) {
    sim::election::Setup one = setup;
    one.seed = workshop.seed() + number;
    return run(*plan_of(scenario, one, until));
  });
}

inline double milliseconds_of(Nanos span) { return static_cast<double>(span.count()) * 1e-6; }

}  // namespace tempo::papers
