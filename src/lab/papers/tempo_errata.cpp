#include <string>
#include <utility>

#include <fmt/core.h>

#include "lab/papers/check_trace.h"
#include "lab/papers/tempo_paper.h"
#include "lab/studies/election/election_model.h"
#include "lab/studies/election/replay.h"

namespace tempo::papers {
namespace {

Statement cited(std::string section, std::string says) {
  return cited_tempo(std::move(section), std::move(says));
}

struct World {
  check::ElectionModel model;
  check::Freedom freedom;
};

// Three nodes; the first is master before the next starts.
World small_world(const election::Variant& variant, const check::Budget& budget) {
  World world{.model = {.rules = check::tiny_rules(variant), .candidacies = 1},
              .freedom = {.nodes = 3, .starts = {0, 16, 32}, .budget = budget}};
  return world;
}

struct Searched {
  bool found = false;
  std::size_t steps = 0;
  std::string property{};
};

// Searches for a counterexample and draws it as the simulator replays it.
Searched search(Workshop& workshop, const World& world, Diagram diagram, Findings& findings) {
  check::Space<check::ElectionModel> space(world.model, world.freedom);
  const check::Finding finding = searched(workshop, space);
  if (!finding.violation) return {};
  std::vector<check::Move> way = finding.violation->prefix;
  way.insert(way.end(), finding.violation->cycle.begin(), finding.violation->cycle.end());
  const Result<check::Replayed> played =
      check::replay(check::replay_script(space, way, finding.violation->property));
  if (!played) return {};
  findings.diagrams.push_back(diagram_of(played->trace, std::move(diagram.id),
                                         std::move(diagram.title), std::move(diagram.caption),
                                         {.nodes = played->nodes}));
  return {true, way.size(), finding.violation->property};
}

void add_refused_duplicate(Workshop& workshop, Findings& findings) {
  // The search visits half a million states, too many for the smallest effort.
  if (workshop.effort() == Effort::glance) return;
  const World world = small_world({.refuse_duplicate = true}, {.duplicates = 1, .crashes = 1});
  const Searched seen = search(
      workshop, world,
      {.id = "tempo-refused-duplicate",
       .title = "One duplicated Election ends an election",
       .caption = "Shortest counterexample, found by the checker; the last node to answer refuses "
                  "the copy of the Election that it has accepted. A tick is a nanosecond."},
      findings);
  findings.claims.push_back(erratum(
      cited("6.1, Accept",
            "a node that has accepted a candidate replies with a Refuse to all the "
            "following Election messages"),
      {.printed = "a candidate without a rival is elected",
       .seen = seen.found ? fmt::format("{} is violated after {} steps", seen.property, seen.steps)
                          : "no counterexample was found",
       .repair = "a copy of the accepted Election is accepted again; only others are "
                 "refused",
       .found = seen.found && seen.property == "sole-candidate-wins",
       .diagram = "tempo-refused-duplicate"}));
}

// Two parts, each with its master, that join.
World healing_world(const election::Variant& variant, std::uint8_t losses) {
  World world = small_world(variant, {.losses = losses});
  world.freedom.starts = {0, 1, 16};
  world.freedom.delay_max = 1;
  world.freedom.cut_until = 19;
  world.freedom.side = 0b101;
  world.model.parted = true;
  return world;
}

World pair_world(const election::Variant& variant) {
  World world = small_world(variant, {});
  world.freedom.nodes = 2;
  world.freedom.cut_until = 40;
  world.freedom.side = 0b01;
  world.model.parted = true;
  return world;
}

void add_mutual_quit(Workshop& workshop, Findings& findings) {
  const Searched seen = search(
      workshop, healing_world({.conflict_kills_both = true}, 1),
      {.id = "tempo-mutual-quit",
       .title = "Two masters that learn of each other both quit",
       .caption =
           "Shortest counterexample, found by the checker: a network of three in two parts that "
           "join, and one lost message. A tick is a nanosecond."},
      findings);
  findings.claims.push_back(erratum(
      cited("5.3, 6.1",
            "a master answers every Resolve with a Masterack, also while it resolves "
            "itself, and a master that receives Quit resigns"),
      {.printed = "one master is left",
       .seen = seen.found ? fmt::format("{} is violated after {} steps", seen.property, seen.steps)
                          : "no counterexample was found",
       .repair = "masterships are ordered: only the lower of two masters resigns",
       .found = seen.found && seen.property == "always-led",
       .diagram = "tempo-mutual-quit"}));
}

void add_newcomers_only(Workshop& workshop, Findings& findings) {
  const Searched seen = search(
      workshop, pair_world({.no_loop = true}),
      {.id = "tempo-split-for-ever",
       .title = "Two masters that never learn of each other",
       .caption = "A partition heals; both masters remain, in a cycle from which, as the "
                  "checker proves, there is no exit without a newcomer. Found by the checker."},
      findings);
  Claim claim =
      happens(cited("5.3",
                    "two masters after a repaired partition are stable: the checker finds a "
                    "cycle without an exit"),
              seen.found && seen.property == check::kComesGood ? 1 : 0, 1);
  claim.diagram = "tempo-split-for-ever";
  findings.claims.push_back(std::move(claim));
}

// Two masters separated by a partition, and a newcomer that receives both after it has healed.
// Without Loop and epochs, as in the paper, only the newcomer can inform them of each other.
World newcomer_world(const election::Variant& variant) {
  World world = small_world(variant, {});
  world.freedom.starts = {0, 0, 30};
  world.freedom.delay_max = 1;
  world.freedom.cut_until = 20;
  world.freedom.side = 0b001;
  world.model.parted = true;
  return world;
}

// A master that broadcasts Conflict, as in 5.3, instead of Resolve, as in 6.
void add_conflict_for_resolve(Workshop& workshop, Findings& findings) {
  const Searched seen = search(
      workshop, newcomer_world({.no_loop = true, .no_epoch = true, .conflict_for_resolve = true}),
      {.id = "tempo-conflict",
       .title = "Conflict instead of Resolve",
       .caption =
           "Found by the checker: a partition heals, a newcomer receives answers of two "
           "masters and informs the first. That one broadcasts Conflict, as in section 5.3; "
           "the other takes it for a newcomer's and does the same; neither answers with its "
           "name, and both remain masters in a cycle without an exit. A tick is a nanosecond."},
      findings);
  const World with_resolve = newcomer_world({.no_loop = true, .no_epoch = true});
  check::Space<check::ElectionModel> space(with_resolve.model, with_resolve.freedom);
  const check::Finding held = searched(workshop, space);
  findings.claims.push_back(erratum(
      cited("5.3, fourth step",
            "the informed master broadcasts a Conflict message to find the other"),
      {.printed = "the other replies with a Masterack, and one is left",
       .seen = seen.found ? fmt::format("{} is violated: two masters permanently, after {} steps",
                                        seen.property, seen.steps)
                          : "no counterexample was found",
       .repair =
           fmt::format("Resolve, as in section 6: from all {} states of the same world a state "
                       "with one master is reachable",
                       held.states),
       .found = seen.found && seen.property == check::kComesGood && held.complete,
       .diagram = "tempo-conflict"}));
}

// The corrected election in the same worlds.
void add_corrected(Workshop& workshop, Findings& findings) {
  for (const auto& [name, world] :
       {std::pair<const char*, World>{"three nodes in two parts that join, one message "
                                      "lost",
                                      healing_world(election::kCorrected, 1)},
        {"two nodes that were separated by a partition", pair_world(election::kCorrected)}}) {
    check::Space<check::ElectionModel> space(world.model, world.freedom);
    const check::Finding finding = searched(workshop, space);
    findings.claims.push_back(holds_everywhere(
        cited("5.3",
              fmt::format("corrected, {}: all properties hold, and one master is reachable", name)),
        finding.complete, finding.violation.has_value(), finding.states));
  }
}

}  // namespace

Findings tempo_errata(Workshop& workshop) {
  Findings findings;
  add_refused_duplicate(workshop, findings);
  add_mutual_quit(workshop, findings);
  add_conflict_for_resolve(workshop, findings);
  add_newcomers_only(workshop, findings);
  add_corrected(workshop, findings);
  return findings;
}

}  // namespace tempo::papers
