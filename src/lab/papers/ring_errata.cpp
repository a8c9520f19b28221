#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "lab/analysis/chains.h"
#include "lab/analysis/ring_time.h"
#include "lab/papers/check_trace.h"
#include "lab/papers/ring_paper.h"
#include "lab/studies/group/ring/ring_models.h"

namespace tempo::papers {
namespace {

using analysis::Fraction;
using analysis::Whole;

Statement cited(std::string section, std::string says) {
  return {Paper::ring, std::move(section), std::move(says)};
}

// Counts every assignment of 1..m to n stations in a line by its number of non-decreasing chains.
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

// With the printed sign: (-1)^k instead of (-1)^i.
Whole printed_1b(std::uint32_t n, std::uint32_t m, std::uint32_t k) {
  Whole sum = 0;
  for (std::uint32_t i = 0; i <= k; ++i)
    sum += Whole::binomial(n + 1, i) * Whole::binomial(m * (k - i) + n - 1, n);
  return k % 2 == 0 ? sum : Whole{0} - sum;
}

struct RingLabels {
  static std::string message(const election::ring::Message& message) {
    return message.priority > 0 ? fmt::format("priority {}", message.priority)
                                : std::string(name_of(message));
  }
  static std::string state(const election::RingElection& station) {
    return std::string(name_of(station.state()));
  }
};

// Two stations, priorities 1 and 2: the smallest ring that refutes the printed statements.
constexpr std::uint32_t kStations = 2;
constexpr std::uint32_t kRange = 2;
constexpr check::RingWorld kWorld{.stations = kStations, .wakers = kStations};

// The memory of a station records its first draw, and that it stayed active after a comparison.
constexpr check::Memory kFirst = 0x0f;
constexpr check::Memory kStayed = 0x80;

// Searches for a state that satisfies `found`.
struct RoundModel {
  using Machine = election::RingElection;
  struct View {
    election::ring::State state = election::ring::State::idle;
    std::uint32_t priority = 0;
  };
  using Slot = check::Scene<View>::Slot;

  election::ring::EquitableRules rules{.link = link_rules(kWorld), .range = kRange};
  bool (*found)(const check::Scene<View>&);

  Machine make(NodeId node, Incarnation incarnation) const { return {node, incarnation, rules}; }
  View view(const Machine& machine) const { return {machine.state(), machine.priority()}; }
  const char* broken(const check::Scene<View>& scene) const {
    return found(scene) ? "search target" : nullptr;
  }
  // A station that draws again draws, in one of the branches, a different value.
  bool remember(const check::Scene<View>& before, check::Scene<View>& after, NodeId node) const {
    const Slot& was = before.slots[index(node)];
    Slot& is = after.slots[index(node)];
    if (was.view == nullptr || is.view == nullptr || is.view->priority == 0) return true;
    if (was.view->priority == 0)
      is.memory = static_cast<check::Memory>(is.view->priority);
    else if (was.view->priority != is.view->priority)
      is.memory |= kStayed;
    return true;
  }
};
using RoundScene = check::Scene<RoundModel::View>;

bool is_out(const RoundScene::Slot& slot) {
  return slot.view != nullptr && slot.view->state == election::ring::State::relay;
}
bool has_stayed(const RoundScene::Slot& slot) { return (slot.memory & kStayed) != 0; }

bool some_station_out(const RoundScene& scene) {
  return is_out(scene.slots[0]) || is_out(scene.slots[1]);
}
bool all_stations_stayed(const RoundScene& scene) {
  return has_stayed(scene.slots[0]) && has_stayed(scene.slots[1]);
}
// A first round has ended whose number of chains is zero by the printed formula.
bool impossible_as_printed(const RoundScene& scene) {
  for (std::uint32_t i = 0; i < kStations; ++i)
    if (!is_out(scene.slots[i]) && !has_stayed(scene.slots[i])) return false;
  const bool falls = (scene.slots[1].memory & kFirst) < (scene.slots[0].memory & kFirst);
  return printed_1b(kStations, kRange, falls ? 2 : 1) <= Whole{0};
}

struct Round {
  std::optional<Shown> shown;
  std::array<std::uint32_t, kStations> drew{};  // first draw of each station
  std::array<std::uint32_t, kStations> draws{};
  NodeId out = kNobody;
};

Round shortest(Workshop& workshop, bool (*found)(const RoundScene&), Diagram shell,
               Findings& findings) {
  const RoundModel model{.found = found};
  check::Space<RoundModel> space(
      model, freedom_of(kWorld),
      {{NodeId{0}, election::ring::Command::wake}, {NodeId{1}, election::ring::Command::wake}});
  Round round{.shown = shown(workshop, space, RingLabels{}, std::move(shell), findings)};
  if (!round.shown) return round;
  for (const check::Move& move : round.shown->violation.prefix) {
    if (!is_step(move.what)) continue;
    const auto& outcome = space.parts().outcome(move.outcome);
    for (const std::uint32_t value : space.parts().draws(outcome))
      if (round.draws.at(index(move.node))++ == 0) round.drew.at(index(move.node)) = value + 1;
    if (space.parts().machine(outcome.local).state() == election::ring::State::relay)
      round.out = move.node;
  }
  return round;
}

std::string text_of(const Round& round) {
  return round.shown ? fmt::format("the stations draw {} and {}", round.drew[0], round.drew[1])
                     : "no counterexample was found";
}

// With an odd k the printed number is negative, although such runs exist.
void add_sign_of_1b(Workshop& workshop, Findings& findings) {
  const Whole printed = printed_1b(kStations, kRange, 1);
  const std::uint64_t counted = enumerated(kStations, kRange)[1];
  const Whole corrected = analysis::linear_nondecreasing(kStations, kRange, 1);
  const Round round =
      shortest(workshop, impossible_as_printed,
               {.id = "ring-proposition-1",
                .title = "One of −3 assignments",
                .caption = "Shortest run, found by the checker, to the end of a round whose "
                           "priorities form one non-decreasing chain: two stations, priorities 1 "
                           "and 2. As printed there are −3 such assignments."},
               findings);
  findings.claims.push_back(erratum(
      cited("3, proposition 1(b)",
            "L~(n,k) is a sum with the sign (−1)^k. Counted for n = 2, m = 2, k = 1"),
      {.printed = printed.text(),
       .seen = fmt::format("{} of the 4 assignments; in one of them {}", counted, text_of(round)),
       .repair = "the sign is (−1)^i inside the sum: " + corrected.text(),
       .found = round.shown && printed < Whole{0} &&
                corrected == Whole(static_cast<std::int64_t>(counted)),
       .diagram = "ring-proposition-1"}));
}

void add_range_of_8(Workshop& workshop, Findings& findings) {
  const std::vector<Whole> right = analysis::circular_increasing(kStations, kRange);
  Whole printed = 0;
  for (std::uint32_t k = 0; k < kStations; ++k) printed += right[k];
  const Whole all = printed + right[kStations];
  const Round round = shortest(
      workshop, all_stations_stayed,
      {.id = "ring-equation-8",
       .title = "A round that eliminates no station",
       .caption = "Shortest run, found by the checker: two stations draw the same value, both stay "
                  "active, and both draw again. There are as many chains as stations, and the "
                  "printed range does not contain this k."},
      findings);
  findings.claims.push_back(erratum(
      cited("3, (7) and (8)",
            "the recurrence for R(n,k) holds for k in 0 … n−1. "
            "Assignments that it covers, n = 2, m = 2"),
      {.printed = printed.text() + " of 4",
       .seen = fmt::format("{} of 4; {}, and none is eliminated", all.text(), text_of(round)),
       .repair = "k = 1 … n, and R(n,0) = 0: a round that eliminates no station has n chains",
       .found =
           round.shown && round.drew[0] == round.drew[1] && printed != Whole{4} && all == Whole{4},
       .diagram = "ring-equation-8"}));
}

// An earlier reading of (9) took p(1,1) = R(1,1)/m = 1, which counts an election that has ended
// again in every later round. The printed recurrence excludes it: its first case requires i > 1, so
// p(1,1) is 0, and the paper is right.
void add_state_one_of_9(Findings& findings) {
  const analysis::RingTime ring(kStations, kRange);
  const Fraction by_recurrence =
      ring.step(2, 2) * ring.step(2, 1) + ring.step(2, 1) * Fraction{0};  // p(1,1) = 0
  std::uint64_t ends_in_two = 0;  // of the 16 pairs of draws in two rounds
  for (std::uint32_t first = 0; first < 4; ++first)
    for (std::uint32_t second = 0; second < 4; ++second) {
      const bool both_stay = first == 0 || first == 3;  // both stations drew the same
      const bool one_stays = second == 1 || second == 2;
      ends_in_two += both_stay && one_stays;
    }
  findings.claims.push_back(same(
      cited("4, (9)", "P{T = k} is p(n,1,k) of the recurrence, n = m = k = 2; counted by hand"),
      Fraction(Whole(static_cast<std::int64_t>(ends_in_two)), Whole{16}).text(),
      by_recurrence.text()));
}

void add_section_3(Workshop& workshop, Findings& findings) {
  const Round round =
      shortest(workshop, some_station_out,
               {.id = "ring-section-3",
                .title = "The station with the larger draw becomes inactive",
                .caption = "Shortest run, found by the checker: two stations, priorities 1 and 2."},
               findings);
  const std::uint32_t its = round.out == kNobody ? 0 : round.drew.at(index(round.out));
  const std::uint32_t other = round.out == kNobody ? 0 : round.drew.at(1 - index(round.out));
  findings.claims.push_back(erratum(
      cited("3", "of neighbours with x_i < x_j station i, with the smaller draw, becomes inactive"),
      {.printed = "the station with the smaller draw becomes inactive",
       .seen =
           fmt::format("of {} and {} the station that drew {} becomes inactive", its, other, its),
       .repair =
           "the larger one becomes inactive, as in the algorithm of section 2: a station stays "
           "active if it drew no more than its predecessor",
       .found = its > other,
       .diagram = "ring-section-3"}));
}

}  // namespace

Findings ring_errata(Workshop& workshop) {
  Findings findings;
  add_sign_of_1b(workshop, findings);
  add_range_of_8(workshop, findings);
  add_state_one_of_9(findings);
  add_section_3(workshop, findings);
  return findings;
}

}  // namespace tempo::papers
