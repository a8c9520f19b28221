#include "lab/studies/election/shrink_experiment.h"

#include <algorithm>

#include "lab/sim/shrink.h"

namespace tempo::sim::election {
namespace {

// Highest node in any fault; nodes that are never started can be left out.
std::uint32_t nodes_needed(const std::vector<Fault>& plan) {
  std::uint32_t highest = 0;
  for (const Fault& fault : plan) {
    if (fault.node != kNobody) highest = std::max(highest, index(fault.node));
    if (fault.peer != kNobody) highest = std::max(highest, index(fault.peer));
    for (const NodeId id : fault.side) highest = std::max(highest, index(id));
  }
  return highest + 1;
}

}  // namespace

bool breaks(const Experiment& experiment, const std::string& property) {
  const Outcome outcome = run(experiment);
  return std::ranges::any_of(outcome.violations, [&](const Violation& violation) {
    return violation.property == property;
  });
}

Experiment shrink(Experiment experiment, const std::function<bool(const Experiment&)>& fails) {
  experiment.plan = fewest(experiment.plan, [&](const std::vector<Fault>& plan) {
    Experiment smaller = experiment;
    smaller.plan = plan;
    return fails(smaller);
  });

  // With fewer faults the end of the faults comes earlier.
  Experiment earlier = experiment;
  complete(earlier);
  if (earlier.peace_from < experiment.peace_from && fails(earlier)) experiment = earlier;

  Experiment fewer = experiment;
  fewer.setup.nodes = nodes_needed(experiment.plan);
  if (fewer.setup.nodes < experiment.setup.nodes && fails(fewer)) experiment = fewer;

  // Shorter runs help if the violation comes early; a property of the final state fails at any
  // length.
  const Nanos length = least(experiment.peace_from.time_since_epoch(),
                             experiment.limit.time_since_epoch(), [&](Nanos limit) {
                               Experiment shorter = experiment;
                               shorter.limit = Instant{limit};
                               return fails(shorter);
                             });
  experiment.limit = Instant{length};
  return experiment;
}

}  // namespace tempo::sim::election
