#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "lab/check/capacity/capacity_model.h"
#include "lab/papers/capacity_paper.h"
#include "lab/papers/check_trace.h"
#include "lab/sim/capacity/run.h"

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
  const char* promise;  // that breaks
  const char* id;
  const char* title;
  const char* caption;
  CapacityWorld world;
  Setup setup;
  bool (*wrong)(const Outcome&);
  const char* counted;
};

Claim refuted(Workshop& workshop, const Printed& printed, Findings& findings) {
  Looked looked = look(workshop, printed.world);
  const bool broken =
      looked.finding.violation && looked.finding.violation->promise == printed.promise;
  if (broken)
    findings.diagrams.push_back(diagram_of(looked.way->trace, printed.id, printed.title,
                                           printed.caption, {.nodes = printed.world.nodes}));
  const auto outcomes = gathered(workshop, workshop.runs(3'000), [&](std::uint64_t number) {
    Setup one = printed.setup;
    one.seed = workshop.seed() + number;
    return run(one);
  });
  const auto wrong = static_cast<std::uint64_t>(std::ranges::count_if(outcomes, printed.wrong));
  return erratum(
      said_of_capacity(printed.section, printed.says),
      {.printed = printed.would_be,
       .seen = broken ? fmt::format("{} is broken after {} steps; {} in {} of {} "
                                    "simulated elections",
                                    printed.promise, looked.finding.violation->stem.size(),
                                    printed.counted, wrong, outcomes.size())
                      : "nothing was found",
       .repair = printed.repair,
       .found = broken,
       .diagram = printed.id});
}

const std::array<Printed, 2>& all_printed() {
  static const std::array<Printed, 2> all{
      {{"5.2, el(Y)",
        "a process chooses the master by looking for its own list of bids among the reports",
        "all correct processes elect the same",
        "the longest list with which at least t + 1 of the first n − t reports begin: one of "
        "these reports is honest",
        "unique",
        "capacity-b2",
        "B.2 as printed, one liar",
        "The shortest way, found by the checker: a late bid comes to one process before it "
        "reports and to another after. A tick is a millisecond.",
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
        "two elect different ones"},
       {"6, table 4",
        "a process that still collects bids does not listen to announcements of the elected",
        "without losses nobody asks for help",
        "it notes whoever is announced meanwhile (transitions 6a, 7a, 7b and 8a)",
        "no-help",
        "capacity-c",
        "C as printed, nothing lost",
        "The shortest way, found by the checker: who begins late hears of the elected too early.",
        {.algorithm = CapacityAlgorithm::c, .candidates = 3, .variant = Variant::as_printed},
        {.algorithm = Algorithm::c, .variant = Variant::as_printed, .start_skew = 10ms},
        [](const Outcome& it) { return it.help > 0; },
        "somebody asks for help"}}};
  return all;
}

// The chain counts from the first round of announcements, the algorithm from the first bid.
Claim rounds_of_one(Workshop& workshop) {
  Extremes rounds;
  for (const Outcome& one : gathered(workshop, workshop.runs(400), [&](std::uint64_t number) {
         return run(
             Setup{.algorithm = Algorithm::c, .candidates = 1, .seed = workshop.seed() + number});
       }))
    rounds.add(one.rounds);
  return erratum(
      said_of_capacity("appendix",
                       "a candidate without rival is done in one round: "
                       "E[N | 1] = 1"),
      {.printed = "1",
       .seen = rounds.least == rounds.most
                   ? fmt::format("{:g} in each of {} elections", rounds.most, rounds.runs)
                   : fmt::format("{:g} to {:g}", rounds.least, rounds.most),
       .repair = "two rounds: one in which bids are collected, and one in which it "
                 "announces itself and waits for rivals; the chain describes the rounds "
                 "after the first",
       .found = rounds.least > 1});
}

// Algorithm A in worlds that break one of its conditions.
struct Broken {
  const char* name;
  const char* id;
  CapacityWorld world;
};
constexpr std::array<Broken, 3> kBroken{
    {{"one begins a tick later", "capacity-a-skew", {.skew = 1}},
     {"nobody hears itself", "capacity-a-deaf", {.self_delivery = false}},
     {"one pauses", "capacity-a-pause", {.budget = {.pauses = 1}}}}};

}  // namespace

Findings capacity_errata(Workshop& workshop) {
  Findings findings;
  for (const Printed& printed : all_printed())
    findings.claims.push_back(refuted(workshop, printed, findings));
  findings.claims.push_back(rounds_of_one(workshop));
  return findings;
}

Findings capacity_checked(Workshop& workshop) {
  Findings findings;
  for (const Broken& broken : kBroken) {
    Looked looked = look(workshop, broken.world);
    const bool found = looked.finding.violation && looked.finding.violation->promise == "unique";
    Claim claim = happens(said_of_capacity("4", fmt::format("a counterexample: {}", broken.name)),
                          found ? 1 : 0, 1);
    if (found) {
      claim.diagram = broken.id;
      findings.diagrams.push_back(
          diagram_of(looked.way->trace, broken.id, fmt::format("Algorithm A: {}", broken.name),
                     "The shortest way to two processes that elect different ones. Behind the name "
                     "of its phase stands whom a process has elected; a tick is a millisecond.",
                     {.nodes = broken.world.nodes}));
    }
    findings.claims.push_back(std::move(claim));
  }
  for (const auto& [name, world] :
       {std::pair<const char*, CapacityWorld>{
            "B.2, four processes, one lies: unique",
            {.algorithm = CapacityAlgorithm::b2, .nodes = 4, .candidates = 1, .malicious = 1}},
        {"C, three candidates, delays of 1 and 2 ticks: one master, nobody asks for help",
         {.algorithm = CapacityAlgorithm::c, .candidates = 3, .delay_max = 2}},
        {"B.1, three candidates, two may crash: unique, and the dead are replaced",
         {.algorithm = CapacityAlgorithm::b1, .candidates = 3, .budget = {.crashes = 2}}}}) {
    const check::Finding finding = look(workshop, world).finding;
    findings.claims.push_back(
        holds_everywhere(said_of_capacity("5, 6", fmt::format("corrected, {}", name)),
                         finding.complete, finding.violation.has_value(), finding.states));
  }
  return findings;
}

}  // namespace tempo::papers
