#include <string>
#include <utility>

#include <fmt/core.h>

#include "lab/papers/check_trace.h"
#include "lab/papers/tempo_paper.h"
#include "lab/studies/election/election_model.h"
#include "lab/studies/election/replay.h"

namespace tempo::papers {
namespace {

Saying said(std::string section, std::string says) {
  return said_of_tempo(std::move(section), std::move(says));
}

struct World {
  check::ElectionModel model;
  check::Freedom freedom;
};

// Three nodes, the first of them master before the next starts.
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

// Looks for what breaks, and draws the shortest way to it as the simulator plays it.
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
  // The search sees half a million states; a glance has no time for that.
  if (workshop.effort() == Effort::glance) return;
  const World world = small_world({.refuse_duplicate = true}, {.duplicates = 1, .crashes = 1});
  const Searched seen =
      search(workshop, world,
             {.id = "tempo-refused-duplicate",
              .title = "One duplicated Election kills an election",
              .caption = "The shortest way, found by the checker; the last node to answer refuses "
                         "the copy of the Election it has accepted. A tick is a nanosecond."},
             findings);
  findings.claims.push_back(erratum(
      said("6.1, Accept",
           "whoever has accepted a candidate replies with a Refuse to all the "
           "following Election messages"),
      {.printed = "a candidate without rival is elected",
       .seen = seen.found ? fmt::format("{} is broken after {} steps", seen.property, seen.steps)
                          : "nothing was found",
       .repair = "a copy of the Election that was accepted is accepted again; only others are "
                 "refused",
       .found = seen.found && seen.property == "sole-candidate-wins",
       .diagram = "tempo-refused-duplicate"}));
}

// Two parts, each with its master, that grow together.
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
       .title = "Two masters told of each other both go",
       .caption = "The shortest way, found by the checker: a network of three in two parts that "
                  "grows together, and one lost message. A tick is a nanosecond."},
      findings);
  findings.claims.push_back(erratum(
      said("5.3, 6.1",
           "a master answers every Resolve with a Masterack, also while it resolves "
           "itself, and whoever is sent Quit goes"),
      {.printed = "one master is left",
       .seen = seen.found ? fmt::format("{} is broken after {} steps", seen.property, seen.steps)
                          : "nothing was found",
       .repair = "masterships have an order: the lower of two masters goes, and nobody else",
       .found = seen.found && seen.property == "always-led",
       .diagram = "tempo-mutual-quit"}));
}

void add_newcomers_only(Workshop& workshop, Findings& findings) {
  const Searched seen =
      search(workshop, pair_world({.no_loop = true}),
             {.id = "tempo-split-for-ever",
              .title = "Two masters who never meet",
              .caption = "A cut heals; both masters live on, in a circle that the checker proves "
                         "to have no way out without a newcomer."},
             findings);
  Claim claim =
      happens(said("5.3",
                   "two masters after a repaired partition are stable: the checker finds a "
                   "circle without a way out"),
              seen.found && seen.property == check::kComesGood ? 1 : 0, 1);
  claim.diagram = "tempo-split-for-ever";
  findings.claims.push_back(std::move(claim));
}

// Two masters whom a cut kept apart, and a newcomer who hears both when it has healed. Without Loop
// and epochs, as in the paper, nobody but the newcomer can tell them of each other.
World newcomer_world(const election::Variant& variant) {
  World world = small_world(variant, {});
  world.freedom.starts = {0, 0, 30};
  world.freedom.delay_max = 1;
  world.freedom.cut_until = 20;
  world.freedom.side = 0b001;
  world.model.parted = true;
  return world;
}

// What comes of a master that broadcasts Conflict, as 5.3 says, where 6 says Resolve.
void add_conflict_for_resolve(Workshop& workshop, Findings& findings) {
  const Searched seen = search(
      workshop, newcomer_world({.no_loop = true, .no_epoch = true, .conflict_for_resolve = true}),
      {.id = "tempo-conflict",
       .title = "Conflict in the place of Resolve",
       .caption = "Found by the checker: a cut heals, a newcomer hears two masters and tells the "
                  "first. That one broadcasts Conflict, as section 5.3 has it; the other takes it "
                  "for a newcomer's and does the same; neither answers with its name, and both "
                  "rule on in a circle without a way out. A tick is a nanosecond."},
      findings);
  const World with_resolve = newcomer_world({.no_loop = true, .no_epoch = true});
  check::Space<check::ElectionModel> space(with_resolve.model, with_resolve.freedom);
  const check::Finding held = searched(workshop, space);
  findings.claims.push_back(erratum(
      said("5.3, fourth step",
           "the informed master broadcasts a Conflict message to find the other"),
      {.printed = "the other replies with a Masterack, and one is left",
       .seen = seen.found ? fmt::format("{} is broken: two masters for ever, after {} steps",
                                        seen.property, seen.steps)
                          : "nothing was found",
       .repair = fmt::format("Resolve, as in section 6: from all {} states of the same world one "
                             "master can be reached",
                             held.states),
       .found = seen.found && seen.property == check::kComesGood && held.complete,
       .diagram = "tempo-conflict"}));
}

// The corrected election in the same worlds.
void add_corrected(Workshop& workshop, Findings& findings) {
  for (const auto& [name, world] :
       {std::pair<const char*, World>{"three nodes in two parts that grow together, one message "
                                      "lost",
                                      healing_world(election::kCorrected, 1)},
        {"two nodes that a cut kept apart", pair_world(election::kCorrected)}}) {
    check::Space<check::ElectionModel> space(world.model, world.freedom);
    const check::Finding finding = searched(workshop, space);
    findings.claims.push_back(holds_everywhere(
        said("5.3", fmt::format("corrected, {}: every promise, and one master in the end", name)),
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
