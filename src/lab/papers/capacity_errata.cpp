#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "lab/analysis/algorithm_c.h"
#include "lab/papers/capacity_paper.h"
#include "lab/papers/check_trace.h"
#include "lab/papers/machine_rounds.h"
#include "lab/studies/group/capacity_model.h"
#include "lab/studies/group/capacity_run.h"

namespace tempo::papers {
namespace {

using check::CapacityAlgorithm;
using check::CapacityWorld;
using election::capacity::Variant;
using sim::capacity::Algorithm;
using sim::capacity::Outcome;
using sim::capacity::Setup;

struct CapacityLabels {
  template <class Message>
  static std::string message(const Message& message) {
    return std::string(name_of(message));
  }
  template <class Machine>
  static std::string state(const Machine& machine) {
    const auto* process = check::process_of(machine);
    if (process == nullptr) return "liar";
    std::string text(name_of(process->phase()));
    if (!process->decided()) return text;
    return process->master() == kNobody ? text + ": nobody"
                                        : fmt::format("{}: {}", text, index(process->master()) + 1);
  }
};

struct Looked {
  check::Finding finding{};
  std::optional<DrawnWay> way{};
};

Looked look(Workshop& workshop, const CapacityWorld& world) {
  return check::in_space(world, [&](auto& space) {
    Looked looked{.finding = searched(workshop, space)};
    if (looked.finding.violation)
      looked.way = drawn_way(space, *looked.finding.violation, CapacityLabels{});
    return looked;
  });
}

struct Printed {
  const char* section;
  const char* says;
  const char* would_be;
  const char* repair;
  const char* property;  // the violated property
  const char* id;
  const char* title;
  const char* caption;
  CapacityWorld world;
  Setup setup;
  bool (*wrong)(const Outcome&);
  const char* counted;
};

Claim refuted(Workshop& workshop, const Printed& printed, Findings& findings) {
  const std::optional<Shown> way = check::in_space(printed.world, [&](auto& space) {
    return shown(workshop, space, CapacityLabels{},
                 {.id = printed.id, .title = printed.title, .caption = printed.caption}, findings);
  });
  const bool broken = way && way->violation.property == printed.property;
  const auto outcomes = gathered(workshop, workshop.runs(3'000), [&](std::uint64_t number) {
    Setup one = printed.setup;
    one.seed = workshop.seed() + number;
    return run(one);
  });
  const auto wrong = static_cast<std::uint64_t>(std::ranges::count_if(outcomes, printed.wrong));
  return erratum(cited_capacity(printed.section, printed.says),
                 {.printed = printed.would_be,
                  .seen = broken ? fmt::format("{} is violated after {} steps; {} in {} of {} "
                                               "simulated elections",
                                               printed.property, way->steps(), printed.counted,
                                               wrong, outcomes.size())
                                 : "no counterexample was found",
                  .repair = printed.repair,
                  .found = broken,
                  .diagram = printed.id});
}

const std::array<Printed, 2>& all_printed() {
  static const std::array<Printed, 2> all{
      {{"5.2, el(Y)",
        "a process chooses the master by searching its own list of bids among the reports",
        "all correct processes elect the same process",
        "the longest list that is a prefix of at least t + 1 of the first n − t reports: one of "
        "these reports is honest",
        "unique",
        "capacity-b2",
        "B.2 as printed, one malicious process",
        "Shortest counterexample, found by the checker: a late bid reaches one process before it "
        "reports and another one after. A tick is a millisecond.",
        {.algorithm = CapacityAlgorithm::b2,
         .nodes = 4,
         .candidates = 1,
         .malicious = 1,
         .variant = Variant::as_printed},
        {.algorithm = Algorithm::b2,
         .nodes = 4,
         .candidates = 4,
         .variant = Variant::as_printed,
         .malicious = 1,
         .start_skew = 10ms},
        [](const Outcome& it) { return it.disagree; },
        "two processes elect different masters"},
       {"6, table 4",
        "a process that still collects bids ignores announcements of the winner",
        "without loss no process asks for help",
        "the process records winners announced meanwhile (transitions 6a, 7a, 7b and 8a)",
        "no-help",
        "capacity-c",
        "C as printed, without loss",
        "Shortest counterexample, found by the checker: a process that begins late receives the "
        "announcement too early.",
        {.algorithm = CapacityAlgorithm::c, .candidates = 3, .variant = Variant::as_printed},
        {.algorithm = Algorithm::c, .variant = Variant::as_printed, .start_skew = 10ms},
        [](const Outcome& it) { return it.help > 0; },
        "a process asks for help"}}};
  return all;
}

// B.2 as printed without faults: searches for a choice based on too few reports.
struct ReportsModel {
  using Machine = election::CapacityB2;
  struct View {
    bool decided = false;
    std::size_t reports = 0;
  };

  CapacityWorld world;
  election::capacity::Rules rules;

  Machine make(NodeId node, Incarnation /*life*/) const { return {node, rules}; }
  void started(Machine& machine, NodeId node, Turn<Machine>& turn) const {
    machine.command(turn, offer_of(world, node));
  }
  View view(const Machine& machine) const { return {machine.decided(), machine.reports()}; }
  const char* broken(const check::Scene<View>& scene) const {
    for (std::uint32_t i = 0; i < scene.nodes; ++i)
      if (scene.up(i) && scene.slots[i].view->decided &&
          scene.slots[i].view->reports < rules.members - rules.malicious)
        return "n - t reports";
    return nullptr;
  }
};

void add_early_reports(Workshop& workshop, Findings& findings) {
  CapacityWorld world{.algorithm = CapacityAlgorithm::b2,
                      .nodes = 2,
                      .candidates = 1,
                      .delay_max = 2,
                      .variant = Variant::as_printed};
  const ReportsModel printed{.world = world, .rules = rules_of(world)};
  check::Space<ReportsModel> space(printed, freedom_of(world), commands_of(world));
  const std::optional<Shown> way = shown(
      workshop, space, CapacityLabels{},
      {.id = "capacity-b2-early",
       .title = "B.2 as printed: a report that arrives too early",
       .caption = "Shortest counterexample, found by the checker: two processes, none of them "
                  "faulty. The report of the first arrives while the second still collects "
                  "bids, a case that Table 3 does not cover."},
      findings);
  world.variant = Variant::corrected;
  const ReportsModel corrected{.world = world, .rules = rules_of(world)};
  check::Space<ReportsModel> every(corrected, freedom_of(world), commands_of(world));
  const check::Finding held = searched(workshop, every);
  findings.claims.push_back(erratum(
      cited_capacity("5.2, table 3",
                     "every process is guaranteed to have at least n − t reports when it "
                     "chooses; reports that arrive before its own are not kept"),
      {.printed = "at least n − t reports",
       .seen = way ? fmt::format("fewer, after {} steps without a fault", way->steps())
                   : "no counterexample was found",
       .repair =
           fmt::format("a process keeps a report whenever it arrives (transition 8a): then it has "
                       "n − t in all {} states of the same world",
                       held.states),
       .found = way && held.complete,
       .diagram = "capacity-b2-early"}));
}

// Corrected Algorithm C: searches for a transition of a process from one phase to another.
struct TransitionModel {
  using Machine = election::CapacityC;
  using Phase = Machine::Phase;
  struct View {
    Phase phase = Phase::normal;
  };

  CapacityWorld world;
  election::capacity::Rules rules;
  Phase from;
  Phase to;

  Machine make(NodeId node, Incarnation /*life*/) const { return {node, rules}; }
  void started(Machine& machine, NodeId node, Turn<Machine>& turn) const {
    machine.command(turn, offer_of(world, node));
    if (holds_at_once(world, node)) machine.command(turn, election::capacity::Command::hold());
  }
  View view(const Machine& machine) const { return {machine.phase()}; }
  const char* broken_move(const check::Scene<View>& before, const check::Scene<View>& after,
                          NodeId node) const {
    const std::uint32_t i = index(node);
    return before.up(i) && after.up(i) && before.slots[i].view->phase == from &&
                   after.slots[i].view->phase == to
               ? "search target"
               : nullptr;
  }
};

std::optional<Shown> transition(Workshop& workshop, const CapacityWorld& world,
                                TransitionModel::Phase from, TransitionModel::Phase to,
                                Diagram shell, Findings& findings) {
  const TransitionModel model{.world = world, .rules = rules_of(world), .from = from, .to = to};
  check::Space<TransitionModel> space(model, freedom_of(world), commands_of(world));
  return shown(workshop, space, CapacityLabels{}, std::move(shell), findings);
}

const election::capacity_c::Row& row_of_c(std::string_view number) {
  const auto* row =
      std::ranges::find(election::capacity_c::kRows, number, &election::capacity_c::Row::number);
  CHECK(row != std::end(election::capacity_c::kRows));
  return *row;
}

// The text refers to a transition of its own table that does something else.
void add_transition_15(Workshop& workshop, Findings& findings) {
  using Phase = TransitionModel::Phase;
  const auto& named = row_of_c("15");
  const auto& meant = row_of_c("11");
  const std::optional<Shown> way = transition(
      workshop,
      {.algorithm = CapacityAlgorithm::c,
       .nodes = 2,
       .candidates = 2,
       .together = true,
       .budget = {.losses = 1}},
      named.from, named.to,
      {.id = "capacity-transition-15",
       .title = "Transition 15",
       .caption = "Shortest run, found by the checker: a bid is lost, two processes consider "
                  "themselves elected, and the lesser one takes transition 15. It does not become "
                  "master: it waits for the other."},
      findings);
  findings.claims.push_back(
      erratum(cited_capacity("6",
                             "a candidate without a rival will stop and become the new "
                             "master (transition 15)"),
              {.printed = "transition 15 leads to master",
               .seen = way ? fmt::format("from {} to {}, after {} steps", name_of(named.from),
                                         name_of(named.to), way->steps())
                           : "no counterexample was found",
               .repair = fmt::format("transition {}, from {} to {}", meant.number,
                                     name_of(meant.from), name_of(meant.to)),
               .found = way && named.to != Phase::master && meant.to == Phase::master,
               .diagram = "capacity-transition-15"}));
}

// The chain counts from the first round of announcements, the algorithm from the first bid.
void add_rounds_of_one(Workshop& workshop, Findings& findings) {
  using Phase = TransitionModel::Phase;
  const std::optional<Shown> way = transition(
      workshop, {.algorithm = CapacityAlgorithm::c, .nodes = 2, .candidates = 1}, Phase::coll2,
      Phase::master,
      {.id = "capacity-rounds-of-one",
       .title = "A candidate without a rival takes two rounds",
       .caption =
           "Shortest run with a master, found by the checker: the candidate bids and waits for 2T, "
           "announces itself and waits for 3T."},
      findings);
  std::uint64_t announced = 0;  // each round begins with a broadcast of the candidate
  if (way)
    for (const sim::Happening& it : way->way.trace.happenings())
      announced += it.what == sim::What::sent && it.node == NodeId{0} ? 1U : 0U;
  Extremes rounds;
  for (const Outcome& one : gathered(workshop, workshop.runs(400), [&](std::uint64_t number) {
         return run(
             Setup{.algorithm = Algorithm::c, .candidates = 1, .seed = workshop.seed() + number});
       }))
    rounds.add(one.rounds);
  findings.claims.push_back(erratum(
      cited_capacity("appendix",
                     "a candidate without a rival needs one round: "
                     "E[N | 1] = 1"),
      {.printed = "1",
       .seen = rounds.least == rounds.most
                   ? fmt::format("{:g} in each of {} elections", rounds.most, rounds.runs)
                   : fmt::format("{:g} to {:g}", rounds.least, rounds.most),
       .repair = "two rounds: one to collect bids, and one in which the candidate announces "
                 "itself and waits for rivals; the chain describes the rounds after the "
                 "first",
       .found = rounds.least > 1 && announced == 2,
       .diagram = "capacity-rounds-of-one"}));
}

// The chain lets a candidate compete again that knows of no rival; the machine makes it master.
void add_chain(Workshop& /*workshop*/, Findings& findings) {
  const analysis::Fraction loss(3, 10);
  const analysis::Fraction chain = analysis::AlgorithmC(2, loss).mean_rounds(2);
  const analysis::Fraction machine = machine_rounds(2, loss);
  findings.claims.push_back(erratum(
      cited_capacity("appendix, (1)",
                     "formula (1) is the mean number of rounds of the algorithm: p = 0.3, two "
                     "candidates"),
      {.printed = fmt::format("{:.4f}", chain.nearest()),
       .seen = fmt::format("{:.4f} for the machine of Table 4, exact over all combinations of lost "
                           "copies; three candidates: {:.4f} instead of {:.4f}",
                           machine.nearest(), machine_rounds(3, loss).nearest(),
                           analysis::AlgorithmC(3, loss).mean_rounds(3).nearest()),
       .repair =
           "by Table 4 a duplicate that hears nothing becomes master (transition 11) and ends "
           "its competition; the formula is the mean of a chain in which every duplicate is "
           "noticed",
       .found = machine != chain}));
}

// "The possibility that the algorithm may fail is very small": it fails where not all processes
// elect the same one, the four problems that the section names.
void add_failures(Workshop& workshop, Findings& findings) {
  struct Rate {
    std::uint32_t nodes;
    double loss;
  };
  for (const Rate& rate : {Rate{5, 0.1}, Rate{10, 0.1}, Rate{10, 0.3}}) {
    const auto outcomes = gathered(workshop, workshop.runs(2'000), [&](std::uint64_t number) {
      return run(Setup{.algorithm = Algorithm::c,
                       .nodes = rate.nodes,
                       .candidates = rate.nodes,
                       .loss = rate.loss,
                       .seed = workshop.seed() + number});
    });
    const Estimate fails = proportion(static_cast<std::uint64_t>(std::ranges::count_if(
                                          outcomes, [](const Outcome& it) { return !it.unique; })),
                                      outcomes.size());
    findings.claims.push_back(erratum(
        cited_capacity("6", fmt::format("the possibility that the algorithm may fail is very "
                                        "small: {} processes, p = {:g}",
                                        rate.nodes, rate.loss)),
        {.printed = "very small",
         .seen = fmt::format("{:.1f} % of {} simulated elections do not end with one master that "
                             "all processes know, although all begin together",
                             100 * fails.value, outcomes.size()),
         .repair = "two masters are rare, but an announcement is lost to each process with "
                   "probability p, and such a process asks for help; use C only where processes "
                   "ask again",
         .found = fails.low > 0.05,
         .measured = fails}));
  }
}

// Algorithm A in worlds that violate one of its conditions.
struct Broken {
  const char* name;
  const char* id;
  CapacityWorld world;
};
constexpr std::array<Broken, 3> kBroken{
    {{"one process begins a tick later", "capacity-a-skew", {.skew = 1}},
     {"no self-delivery", "capacity-a-deaf", {.self_delivery = false}},
     {"one process pauses", "capacity-a-pause", {.budget = {.pauses = 1}}}}};

}  // namespace

Findings capacity_errata(Workshop& workshop) {
  Findings findings;
  for (const Printed& printed : all_printed())
    findings.claims.push_back(refuted(workshop, printed, findings));
  add_early_reports(workshop, findings);
  add_transition_15(workshop, findings);
  add_rounds_of_one(workshop, findings);
  add_chain(workshop, findings);
  add_failures(workshop, findings);
  return findings;
}

Findings capacity_checked(Workshop& workshop) {
  Findings findings;
  for (const Broken& broken : kBroken) {
    Looked looked = look(workshop, broken.world);
    const bool found = looked.finding.violation && looked.finding.violation->property == "unique";
    Claim claim =
        happens(cited_capacity("4", fmt::format("a counterexample exists: {}", broken.name)),
                found ? 1 : 0, 1);
    if (found) {
      claim.diagram = broken.id;
      findings.diagrams.push_back(
          diagram_of(looked.way->trace, broken.id, fmt::format("Algorithm A: {}", broken.name),
                     "Shortest run in which two processes elect different masters, found by the "
                     "checker. The elected process stands behind the name of the phase; a tick is "
                     "a millisecond.",
                     {.nodes = broken.world.nodes}));
    }
    findings.claims.push_back(std::move(claim));
  }
  for (const auto& [name, world] :
       {std::pair<const char*, CapacityWorld>{
            "B.2, four processes, one of them malicious: unique",
            {.algorithm = CapacityAlgorithm::b2, .nodes = 4, .candidates = 1, .malicious = 1}},
        {"C, three candidates, delays of 1 and 2 ticks: one master, and no process asks for help",
         {.algorithm = CapacityAlgorithm::c, .candidates = 3, .delay_max = 2}},
        {"B.1, three candidates, two may crash: unique, and dead winners are replaced",
         {.algorithm = CapacityAlgorithm::b1, .candidates = 3, .budget = {.crashes = 2}}}}) {
    const check::Finding finding = look(workshop, world).finding;
    findings.claims.push_back(
        holds_everywhere(cited_capacity("5, 6", fmt::format("corrected, {}", name)),
                         finding.complete, finding.violation.has_value(), finding.states));
  }
  return findings;
}

}  // namespace tempo::papers
