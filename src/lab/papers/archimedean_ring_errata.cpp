#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "lab/analysis/anonymous_ring.h"
#include "lab/papers/archimedean_paper.h"
#include "lab/papers/check_trace.h"
#include "lab/studies/group/ring/ring_models.h"

namespace tempo::papers {
namespace {

using check::RingWorld;
using election::anonymous::Rules;
using election::anonymous::State;
using Commands = std::vector<std::pair<NodeId, election::anonymous::Command>>;

Statement cited(std::string section, std::string says) {
  return cited_archimedean(std::move(section), std::move(says));
}

struct AnonymousLabels {
  static std::string message(const election::ring::Message& message) {
    return std::string(name_of(message));
  }
  static std::string state(const election::AnonymousRingElection& station) {
    return std::string(name_of(station.state()));
  }
};

// Each station may wake up by itself at any time.
Commands all_wake(std::uint32_t stations) {
  Commands commands;
  for (std::uint32_t i = 0; i < stations; ++i)
    commands.emplace_back(NodeId{i}, election::anonymous::Command::wake);
  return commands;
}

// One phase of two stations with individual rules: the numbers of steps are the same, the lengths
// of a step differ.
struct PhaseModel {
  using Machine = election::AnonymousRingElection;
  struct View {
    State state = State::sleeping;
  };
  using Scene = check::Scene<View>;

  std::array<Rules, 2> rules;
  bool in_step = false;  // both wake up at once, and both draw 1
  bool (*found)(const Scene&);

  Machine make(NodeId node, Incarnation life) const { return {node, life, rules[index(node)]}; }
  void started(Machine& machine, NodeId /*node*/, Turn<Machine>& turn) const {
    if (in_step) machine.command(turn, election::anonymous::Command::wake);
  }
  View view(const Machine& machine) const { return {machine.state()}; }
  const char* broken(const Scene& scene) const { return found(scene) ? "search target" : nullptr; }
  // Stops at stations that leave the phase or are not in step.
  bool remember(const Scene& /*before*/, Scene& after, NodeId node) const {
    if (!after.up(index(node))) return true;
    const State state = after.slots[index(node)].view->state;
    return in_step ? state != State::awake_other : state != State::next_timer;
  }

  static std::uint32_t count(const Scene& scene, State state) {
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < scene.nodes; ++i)
      if (scene.up(i) && scene.slots[i].view->state == state) ++found;
    return found;
  }
  static bool somebody_elected(const Scene& scene) { return count(scene, State::elected) > 0; }
  static bool two_elected(const Scene& scene) { return count(scene, State::elected) == 2; }
  static bool one_gives_up(const Scene& scene) {
    return count(scene, State::next_timer) + count(scene, State::defeated) > 0;
  }
};

// The same numbers of steps, with steps of length `step`.
Rules stretched(const Rules& rules, Nanos step) {
  const std::int64_t on_the_way =
      (rules.delay_max + rules.step_min - Nanos{1}) / rules.step_min;  // steps, rounded up
  Rules slow = rules;
  slow.step_min = step;
  slow.delay_max = on_the_way * step;
  slow.step_max = (rules.loop() / rules.link.stations - on_the_way) * step;
  CHECK(slow.loop() == rules.loop() && slow.last_wait() == rules.last_wait());
  return slow;
}

// --- appendix A, 3.2 ---

void add_next_timer(Workshop& workshop, Findings& findings) {
  const RingWorld world{.stations = 2};
  const check::AnonymousModel model{.rules = anonymous_rules(world, 2, true)};
  check::Space<check::AnonymousModel> space(model, freedom_of(world), all_wake(world.stations));
  const std::optional<Shown> way =
      shown(workshop, space, AnonymousLabels{},
            {.id = "anonymous-next-time",
             .title = "A Next-time message that never stops circulating",
             .caption = "Found by the checker on a ring of two. The "
                        "last steps lead back to the state where they "
                        "began."},
            findings);
  const bool circles = way && !way->violation.cycle.empty();
  findings.claims.push_back(erratum(
      cited("appendix A, 3.2", "a next-timer forwards the first Next-time message it receives"),
      {.printed = "the next phase begins",
       .seen = circles ? fmt::format("a cycle of {} steps, after {}", way->violation.cycle.size(),
                                     way->steps())
                       : "no counterexample was found",
       .repair =
           "a Next-time message is a marker: a station that leaves a phase sends exactly one, "
           "and begins the next phase when it has received one from its predecessor",
       .found = circles,
       .diagram = "anonymous-next-time"}));
}

// --- appendix A, 4.8 ---

// Steps of 3 and of 4 ticks; a message takes up to two ticks and then waits for a step of its
// receiver.
constexpr Nanos kFastStep{3};
constexpr Nanos kSlowStep{4};
constexpr Nanos kWay{2};

PhaseModel last_wait_model(const RingWorld& world, bool printed) {
  Rules fast = anonymous_rules(world, 1, false);
  fast.step_min = kFastStep;
  fast.step_max = kSlowStep;
  fast.delay_max = kWay;
  fast.printed_last_wait = printed;
  return {.rules = {fast, stretched(fast, kSlowStep)}, .found = PhaseModel::two_elected};
}

void add_last_wait(Workshop& workshop, Findings& findings) {
  const RingWorld world{.stations = 2,
                        .delay_max = static_cast<std::uint8_t>((kWay + kSlowStep).count())};
  // Messages that have arrived are read before a wait ends: the result does not depend on ties.
  check::Freedom freedom = freedom_of(world);
  freedom.mail_first = true;
  const PhaseModel printed = last_wait_model(world, true);
  check::Space<PhaseModel> space(printed, freedom, all_wake(world.stations));
  const std::optional<Shown> way = shown(
      workshop, space, AnonymousLabels{},
      {.id = "anonymous-last-wait",
       .title = "A last wait of n·dmax steps",
       .caption =
           "Shortest counterexample, found by the checker: two stations with steps of 3 and 4 "
           "ticks, dmax of two ticks, one stage. The faster one is elected and announces it, "
           "but the slower one has finished its wait before the Termination arrives."},
      findings);
  const PhaseModel corrected = last_wait_model(world, false);
  check::Space<PhaseModel> every(corrected, freedom, all_wake(world.stations));
  const check::Finding held = searched(workshop, every);
  findings.claims.push_back(erratum(
      cited("appendix A, 4.8",
            "after the last stage a candidate waits for n·dmax steps, to receive any "
            "messages in progress"),
      {.printed = "all messages in transit have arrived",
       .seen = way ? fmt::format("two stations are elected after {} steps", way->steps())
                   : "no counterexample was found",
       .repair =
           fmt::format("L steps, as in a stage: then no two stations are elected in any of the "
                       "{} states of the same world",
                       held.states),
       .found = way && held.complete,
       .diagram = "anonymous-last-wait"}));
}

void add_corrected(Workshop& workshop, Findings& findings) {
  const RingWorld small{.stations = 3};
  const check::AnonymousModel corrected{.rules = anonymous_rules(small, 2, false)};
  check::Space<check::AnonymousModel> every(corrected, freedom_of(small), all_wake(small.stations));
  const check::Finding held = searched(workshop, every);
  findings.claims.push_back(holds_everywhere(
      cited(
          "4.3",
          "corrected, three stations: a sole candidate never gives up, and the election can always "
          "still end"),
      held.complete, held.violation.has_value(), held.states));
}

// Smallest number of ticks of an election with one phase; unset: none was found.
std::optional<std::uint32_t> shortest_phase(Workshop& workshop, Nanos step_max, Diagram shell,
                                            Findings& findings) {
  const RingWorld world{.stations = 2, .delay_max = 1};
  Rules rules = anonymous_rules(world, 2, false);
  rules.step_max = step_max;
  const PhaseModel model{.rules = {rules, rules}, .found = PhaseModel::somebody_elected};
  check::Space<PhaseModel> space(model, freedom_of(world), all_wake(world.stations));
  const std::optional<Shown> way =
      shown(workshop, space, AnonymousLabels{}, std::move(shell), findings);
  if (!way) return std::nullopt;
  std::uint32_t asleep = 0;  // ticks before the first station wakes up
  for (const check::Move& move : way->violation.prefix) {
    if (move.what == check::Happening::command) break;
    if (move.what == check::Happening::tick) asleep += move.detail;
  }
  return way->way.ticks - asleep;
}

}  // namespace

// In the first stage every candidate forwards: with k = 1 no coin decides anything.
Claim erratum_of_lemma_6(Workshop& workshop, Findings& findings) {
  const RingWorld world{.stations = 2, .delay_max = 1};
  const Rules rules = anonymous_rules(world, 1, false);
  const PhaseModel both{.rules = {rules, rules}, .in_step = true, .found = PhaseModel::two_elected};
  check::Space<PhaseModel> space(both, freedom_of(world));
  const std::optional<Shown> way = shown(
      workshop, space, AnonymousLabels{},
      {.id = "anonymous-one-stage",
       .title = "Two leaders after one stage",
       .caption =
           "Shortest run, found by the checker: two candidates in step, k = 1. Each takes the "
           "other's claim for its own. There is no other outcome."},
      findings);
  const PhaseModel otherwise{
      .rules = {rules, rules}, .in_step = true, .found = PhaseModel::one_gives_up};
  check::Space<PhaseModel> every(otherwise, freedom_of(world));
  const check::Finding never = searched(workshop, every);
  const analysis::Fraction once = analysis::all_elected(2, 1);
  return erratum(
      cited("4.3, lemma 6",
            "there is one leader with probability at least 1 − (3/4)^k, for every k; "
            "two leaders at k = 1"),
      {.printed = "≤ 3/4",
       .seen = fmt::format("{}; neither gives up in any of {} states", once.text(), never.states),
       .repair = "for k ≥ 2: in the first stage every candidate forwards, so this stage decides "
                 "nothing",
       .found = way && never.complete && once > analysis::Fraction{3, 4},
       .diagram = "anonymous-one-stage"});
}

Claim erratum_of_theorem_1(Workshop& workshop, double printed_ms, double longest_ms,
                           Findings& findings) {
  constexpr std::uint32_t kPrinted = 4 * 2 * 1 * 2;  // 4 n dmax k
  const std::optional<std::uint32_t> ticks = shortest_phase(
      workshop, Nanos{2},
      {.id = "anonymous-phase-time",
       .title = "A phase longer than 4 n dmax k",
       .caption =
           "Shortest run with a leader, found by the checker: n = 2, k = 2, dmax of one tick. "
           "The steps of these two take one tick each, but because steps may take two, L is 6 "
           "steps instead of 4, and a phase takes 24 ticks instead of the printed 16."},
      findings);
  return erratum(
      cited("4.3, theorem 1",
            "a phase lasts at most 4 n dmax k; for γ = 0.1, n = 6, k = 4, and for γ = 1/2, n = k = "
            "2"),
      {.printed = fmt::format("≤ {:.4g} ms, and ≤ {} ticks", printed_ms, kPrinted),
       .seen = fmt::format("{:.4g} ms, and at least {} ticks", longest_ms, ticks.value_or(0)),
       .repair = "with a factor for the L steps of a slow station: "
                 "max(k + 2, rmax/rmin + 1) L rmax + 2 n (dmax + rmax)",
       .found = longest_ms > printed_ms && ticks.value_or(0) > kPrinted,
       .diagram = "anonymous-phase-time"});
}

Findings archimedean_ring_errata(Workshop& workshop) {
  Findings findings;
  add_next_timer(workshop, findings);
  add_last_wait(workshop, findings);
  add_corrected(workshop, findings);
  return findings;
}

}  // namespace tempo::papers
