#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "lab/analysis/chains.h"
#include "lab/analysis/ring_time.h"
#include "lab/check/ring/ring_models.h"
#include "lab/papers/check_trace.h"
#include "lab/papers/ring_paper.h"

namespace tempo::papers {
namespace {

using analysis::Fraction;
using analysis::Whole;

Saying said(std::string section, std::string says) {
  return {Paper::ring, std::move(section), std::move(says)};
}

// Every assignment of 1..m to n stations in a line, counted by its non-decreasing chains.
std::vector<std::uint64_t> enumerated(std::uint32_t n, std::uint32_t m) {
  std::vector<std::uint64_t> counts(n + 1);
  std::vector<std::uint32_t> drawn(n, 1);
  for (;;) {
    std::uint32_t chains = 1;
    for (std::uint32_t i = 1; i < n; ++i) chains += drawn[i] < drawn[i - 1] ? 1U : 0U;
    ++counts[chains];
    std::uint32_t at = 0;
    while (at < n && drawn[at] == m) drawn[at++] = 1;
    if (at == n) return counts;
    ++drawn[at];
  }
}

// With the sign as printed: (-1)^k where it should be (-1)^i.
Whole printed_1b(std::uint32_t n, std::uint32_t m, std::uint32_t k) {
  Whole sum = 0;
  for (std::uint32_t i = 0; i <= k; ++i)
    sum += Whole::binomial(n + 1, i) * Whole::binomial(m * (k - i) + n - 1, n);
  return k % 2 == 0 ? sum : Whole{0} - sum;
}

Claim sign_of_1b() {
  const std::uint64_t counted = enumerated(3, 2)[2];
  const Whole printed = printed_1b(3, 2, 2);
  const Whole corrected = analysis::linear_nondecreasing(3, 2, 2);
  return erratum(said("3, proposition 1(b)",
                      "L~(n,k) is a sum with the sign (−1)^k. Counted for n = 3, m = 2, k = 2"),
                 {.printed = printed.text(),
                  .seen = fmt::format("{} of the 8 assignments", counted),
                  .repair = "the sign is (−1)^i and stands under the sum: " + corrected.text(),
                  .found = printed != Whole(static_cast<std::int64_t>(counted)) &&
                           corrected == Whole(static_cast<std::int64_t>(counted))});
}

Claim range_of_8() {
  const std::vector<Whole> right = analysis::circular_increasing(3, 2);
  Whole printed = 0;
  for (std::uint32_t k = 0; k < 3; ++k) printed += right[k];
  const Whole all = printed + right[3];
  return erratum(said("3, (7) and (8)",
                      "the recurrence for R(n,k) holds for k in 0 … n−1. "
                      "Assignments it accounts for, n = 3, m = 2"),
                 {.printed = printed.text() + " of 8",
                  .seen = all.text() + " of 8",
                  .repair = "k = 1 … n, and R(n,0) = 0: that nobody is eliminated has n chains",
                  .found = printed != Whole{8} && all == Whole{8}});
}

// By (9) as it stands, with p(1,1) = R(1,1)/m = 1.
Claim state_one_of_9() {
  const analysis::RingTime ring(2, 2);
  const Fraction printed = ring.step(2, 2) * ring.step(2, 1) + ring.step(2, 1) * Fraction{1};
  const Fraction right = ring.by_sum(2);
  return erratum(said("4, (9)",
                      "P{T = k} is p(n,1,k) of the recurrence, in which p(1,1) = 1. For "
                      "n = m = k = 2"),
                 {.printed = printed.text(),
                  .seen = right.text(),
                  .repair = "p(1,1) = 0 in the recurrence: an election that has ended is not "
                            "counted again in every later round",
                  .found = printed != right});
}

// Looks for the shortest way to somebody's being out of the running.
struct SomebodyOut {
  using Machine = election::RingElection;
  struct View {
    election::ring::State state = election::ring::State::idle;
  };

  election::ring::EquitableRules rules;

  Machine make(NodeId node, Incarnation life) const { return {node, life, rules}; }
  View view(const Machine& machine) const { return {machine.state()}; }
  const char* broken(const check::Scene<View>& scene) const {
    for (std::uint32_t i = 0; i < scene.nodes; ++i)
      if (scene.up(i) && scene.seats[i].view->state == election::ring::State::relay)
        return "somebody is out";
    return nullptr;
  }
};

struct RingLabels {
  static std::string message(const election::ring::Message& message) {
    return message.priority > 0 ? fmt::format("priority {}", message.priority)
                                : std::string(name_of(message));
  }
  static std::string state(const election::RingElection& station) {
    return std::string(name_of(station.state()));
  }
};

void add_section_3(Workshop& workshop, Findings& findings) {
  const check::RingWorld world{.stations = 2, .wakers = 2};
  const SomebodyOut model{.rules = {.link = link_rules(world), .range = 2}};
  check::Space<SomebodyOut> space(
      model, freedom_of(world),
      {{NodeId{0}, election::ring::Command::wake}, {NodeId{1}, election::ring::Command::wake}});
  const check::Finding finding = searched(workshop, space);
  if (!finding.violation) {
    findings.claims.push_back(erratum(said("3", "who draws less becomes inactive"), {}));
    return;
  }
  std::array<std::uint32_t, 2> drew{};
  NodeId out = kNobody;
  for (const check::Move& move : finding.violation->stem) {
    if (!is_step(move.what)) continue;
    const auto& outcome = space.parts().outcome(move.outcome);
    for (const std::uint32_t value : space.parts().draws(outcome))
      drew.at(index(move.node)) = value + 1;
    if (space.parts().machine(outcome.local).state() == election::ring::State::relay)
      out = move.node;
  }
  const std::uint32_t its = out == kNobody ? 0 : drew.at(index(out));
  const std::uint32_t other = out == kNobody ? 0 : drew.at(1 - index(out));
  const DrawnWay way = drawn_way(space, *finding.violation, RingLabels{});
  findings.diagrams.push_back(diagram_of(
      way.trace, "ring-section-3", "Who draws more is out",
      "The shortest way, found by the checker: two stations, priorities 1 and 2.", {.nodes = 2}));
  findings.claims.push_back(erratum(
      said("3", "of neighbours with x_i < x_j station i, which drew less, becomes inactive"),
      {.printed = "who drew less goes",
       .seen = fmt::format("of {} and {} the one that drew {} goes", its, other, its),
       .repair = "the larger one goes, as in the algorithm of section 2: who drew no more "
                 "than the one before it stays",
       .found = its > other,
       .diagram = "ring-section-3"}));
}

}  // namespace

Findings ring_errata(Workshop& workshop) {
  Findings findings;
  findings.claims = {sign_of_1b(), range_of_8(), state_one_of_9()};
  add_section_3(workshop, findings);
  return findings;
}

}  // namespace tempo::papers
