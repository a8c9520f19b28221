#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <fmt/core.h>

#include "lab/papers/archimedean_paper.h"
#include "lab/papers/check_trace.h"
#include "lab/studies/lock/lock_model.h"
#include "lab/studies/lock/mutex_run.h"

namespace tempo::papers {
namespace {

using check::LockModel;
using check::LockWorld;
using lock::mutex::Variant;
using sim::lock::Kind;
using sim::lock::Outcome;
using sim::lock::Setup;

constexpr std::uint64_t kEntriesOfRun = 2'000;

struct LockLabels {
  static std::string message(const lock::mutex::Message& message) {
    return std::string(name_of(message));
  }
  static std::string state(const sim::lock::Site& site) {
    return std::string(name_of(site.lock().phase()));
  }
};

// A printed statement, the check that refutes it, and a simulation of the same variant.
struct Printed {
  const char* section;
  const char* says;
  const char* would_be;
  const char* repair;
  const char* id;
  const char* title;
  const char* caption;
  LockWorld world;
  std::optional<Setup> setup{};  // unset: the checker alone refutes it
};

Claim refuted(Workshop& workshop, const Printed& printed, Findings& findings) {
  const LockModel model{.rules = rules_of(printed.world)};
  check::Space<LockModel> space(model, freedom_of(printed.world), commands_of(printed.world));
  const std::optional<Shown> way =
      shown(workshop, space, LockLabels{},
            {.id = printed.id, .title = printed.title, .caption = printed.caption}, findings);
  const bool broken = way && way->violation.property == "exclusion";
  std::string simulated;
  if (printed.setup) {
    const std::uint64_t runs = std::max<std::uint64_t>(2, workshop.runs(20'000) / kEntriesOfRun);
    const auto outcomes = gathered(workshop, runs, [&](std::uint64_t number) {
      Setup one = *printed.setup;
      one.seed = workshop.seed() + number;
      one.entries = std::min(kEntriesOfRun, workshop.runs(20'000));
      return run(one);
    });
    Outcome sum;
    for (const Outcome& one : outcomes) sum.add(one);
    simulated =
        fmt::format("; {} of {} simulated entries, {} of {} runs end in deadlock",
                    sum.tally.violations, sum.tally.entries, sum.tally.deadlocks, outcomes.size());
  }
  return erratum(
      cited_archimedean(printed.section, printed.says),
      {.printed = printed.would_be,
       .seen = broken ? fmt::format("two clients inside after {} steps{}", way->steps(), simulated)
                      : "no counterexample was found",
       .repair = printed.repair,
       .found = broken,
       .diagram = printed.id});
}

const std::array<Printed, 4>& all_printed() {
  static const std::array<Printed, 4> all{
      {{"2.2.1, process (a)",
        "a site takes its sequence number before it sleeps",
        "no two clients are inside",
        "the site takes the number after the sleep, in the step in which it sends the request",
        "lock-number-before-sleep",
        "A number taken before the sleep",
        "Shortest counterexample, found by the checker. The site that slept asks with an old "
        "number and the site inside does not refuse it. A tick is a millisecond.",
        {.sites = 2, .hold = 2, .variant = Variant::as_printed},
        Setup{.variant = Variant::as_printed}},
       {"2.2.1, process (a)",
        "the window covers a message in both directions and one handler, that of requests",
        "no two clients are inside",
        "the window also covers the handlers of replies, and the queues before both",
        "lock-window",
        "A window for one handler",
        "Shortest counterexample, found by the checker; handling a message takes two ticks. The "
        "refusal arrives in time, but is read when its receiver is already inside.",
        {.sites = 2, .hold = 2, .handling = 2, .variant = Variant::printed_window},
        Setup{.variant = Variant::printed_window,
              .handling = {.request = 20, .reply = 20},
              .delay_max = 200us}},
       {"2.2.5",
        "a crashed refuser is detected by a second time-out, without a message",
        "no two clients are inside",
        "the site asks the refuser again; silence for one window is consent",
        "lock-second-timeout",
        "A second time-out without a message",
        "Shortest counterexample, found by the checker. A site crashes after it has refused one "
        "that "
        "has itself refused a third: both wait for their time-outs, which end one after the other, "
        "and the third does not know that the second is inside. The time-out covers the holds of "
        "all "
        "other sites; a longer one changes nothing.",
        {.contending = 3,
         .hold = 2,
         .budget = {.crashes = 1},
         .variant = Variant::silent_second_timeout}},
       {"3.1",
        "readers never refuse readers, and everything else stays the same",
        "no two conflicting clients are inside",
        "the same corrections as for mutual exclusion",
        "lock-readers-writers",
        "Readers and writers, as printed",
        "Shortest counterexample, found by the checker: a writer and a reader are inside together.",
        {.sites = 2, .readers = 1, .hold = 2, .variant = Variant::as_printed},
        Setup{.kind = Kind::rw, .readers = 2, .variant = Variant::as_printed}}}};
  return all;
}

// One entry of the corrected lock in a world of two sites. The memory of a site records that it was
// refused and had to wait.
struct EntryModel {
  using Machine = sim::lock::Site;
  struct View {
    bool inside = false;
    bool waits = false;
  };
  using Scene = check::Scene<View>;

  sim::lock::SiteRules rules;
  bool (*found)(const Scene::Slot&);  // evaluated for every site in every state

  Machine make(NodeId node, Incarnation life) const {
    return {node, life, rules, lock::mutex::Birth::first};
  }
  View view(const Machine& site) const {
    return {.inside = site.client() == Machine::Client::inside,
            .waits = site.lock().phase() == lock::mutex::Phase::waiting};
  }
  const char* broken(const Scene& scene) const {
    for (std::uint32_t i = 0; i < scene.nodes; ++i)
      if (scene.up(i) && found(scene.slots[i])) return "search target";
    return nullptr;
  }
  bool remember(const Scene& /*before*/, Scene& after, NodeId node) const {
    Scene::Slot& seat = after.slots[index(node)];
    if (after.up(index(node)) && seat.view->waits) seat.memory = 1;
    return true;
  }

  static bool enters(const Scene::Slot& seat) { return seat.view->inside; }
  static bool waits(const Scene::Slot& seat) { return seat.view->waits; }
  static bool enters_refused(const Scene::Slot& seat) {
    return seat.view->inside && seat.memory != 0;
  }
};

check::Space<EntryModel> space_of(const EntryModel& model, const LockWorld& world) {
  return {model, freedom_of(world), commands_of(world)};
}

// The messages received for the entry of one site.
struct EntryCost {
  std::uint32_t requests = 0;
  std::uint32_t negative = 0;
  std::uint32_t positive = 0;
  std::uint32_t messages() const { return requests + negative + positive; }
};
EntryCost cost_of_last_entry(const sim::Trace& trace) {
  NodeId entered = kNobody;
  for (const sim::Happening& it : trace.happenings())
    if (it.what == sim::What::becomes && it.label == name_of(lock::mutex::Phase::inside))
      entered = it.node;
  EntryCost cost;
  for (const sim::Happening& it : trace.happenings()) {
    if (it.what != sim::What::received) continue;
    if (it.node == entered && it.label == "request") ++cost.requests;
    if (it.peer == entered && it.label == "negative") ++cost.negative;
    if (it.peer == entered && it.label == "positive") ++cost.positive;
  }
  return cost;
}

}  // namespace

// With one contending site the mean is 0, not s/(2(1+γ)) = 1/4: there is no other site to refuse
// it.
Claim erratum_of_lemma_1(Workshop& workshop, double printed, const Estimate& refusals,
                         Findings& findings) {
  const LockWorld world{.sites = 2, .contending = 1};
  const EntryModel refused{.rules = rules_of(world), .found = EntryModel::waits};
  check::Space<EntryModel> every = space_of(refused, world);
  const check::Finding searched_all = searched(workshop, every);
  const bool never_refused = searched_all.complete;
  const EntryModel entered{.rules = rules_of(world), .found = EntryModel::enters};
  check::Space<EntryModel> space = space_of(entered, world);
  const std::optional<Shown> way = shown(
      workshop, space, LockLabels{},
      {.id = "lock-lemma-1",
       .title = "A single contending site is never refused",
       .caption = "Shortest entry, found by the checker. With s = 1 and γ = 1 the printed mean is "
                  "1/4; no state of this world contains a refusal."},
      findings);
  const bool silent = way && cost_of_last_entry(way->way.trace).negative == 0;
  return erratum(cited_archimedean(
                     "2.2.3, lemma 1",
                     "the mean number of refusals is s/(2(1+γ)); for s = 12, γ = 1, and for s = 1"),
                 {.printed = fmt::format("{:.4g}, and 1/4", printed),
                  .seen = fmt::format("{:.4g}, and {} in all {} states", refusals.value,
                                      never_refused ? "0" : "not 0", searched_all.states),
                  .repair = "this is an upper bound: the proof itself estimates from above",
                  .found = silent && never_refused && !refusals.contains(printed),
                  .diagram = "lock-lemma-1",
                  .measured = refusals});
}

Claim erratum_of_lemma_2(Workshop& workshop, std::uint32_t sites, const Estimate& refusals,
                         const Estimate& messages, Findings& findings) {
  const LockWorld world{.sites = 2};
  const EntryModel model{.rules = rules_of(world), .found = EntryModel::enters_refused};
  check::Space<EntryModel> space = space_of(model, world);
  const std::optional<Shown> way =
      shown(workshop, space, LockLabels{},
            {.id = "lock-lemma-2",
             .title = "A refused entry costs three messages, not two",
             .caption =
                 "Shortest entry with a wait, found by the checker: n = 2, one refusal. A request, "
                 "a negative reply and later a positive reply."},
            findings);
  const EntryCost cost = way ? cost_of_last_entry(way->way.trace) : EntryCost{};
  const bool drawn = cost.negative > 0 && cost.messages() == world.sites - 1 + 2 * cost.negative;
  const double printed = sites - 1 + refusals.value;
  return erratum(
      cited_archimedean("2.2.3, lemma 2",
                        "an entry costs n − 1 + nnr messages; for n = s = 12, γ = 1, and for the "
                        "first refused entry with n = 2"),
      {.printed = fmt::format("{:.4g}, and {}", printed, world.sites - 1 + cost.negative),
       .seen = fmt::format("{:.4g}, and {}", messages.value, cost.messages()),
       .repair = "n − 1 + 2 nnr: a refused site receives a negative and later a positive reply",
       .found = drawn && !messages.contains(printed) &&
                messages.contains(sites - 1 + 2 * refusals.value),
       .diagram = "lock-lemma-2",
       .measured = messages});
}

namespace {

// What the printed text is right about, if no site crashes or restarts. It describes neither the
// length of the second time-out nor a site that restarts.
struct Right {
  const char* section;
  const char* says;
  LockWorld world;
};
constexpr std::array<Right, 4> kRight{
    {{"2.2.5",
      "numbers modulo 2n − 1 preserve exclusion, 2 sites, 3 entries each",
      {.sites = 2, .entries = 3, .variant = Variant::modulo}},
     {"2.2.5",
      "numbers modulo 2n − 1 preserve exclusion, 2 sites, one of which crashes",
      {.sites = 2, .entries = 2, .budget = {.crashes = 1}, .variant = Variant::modulo}},
     {"2.2.5",
      "numbers modulo 2n − 1 preserve exclusion, 3 sites",
      {.sites = 3, .variant = Variant::modulo}},
     {"2.2.5",
      "a second time-out that covers the holds of all others preserves exclusion if no site "
      "crashes",
      {.contending = 3, .hold = 3, .variant = Variant::silent_second_timeout}}}};

check::Finding lock_search(Workshop& workshop, const LockWorld& world) {
  const LockModel model{.rules = rules_of(world)};
  check::Space<LockModel> space(model, freedom_of(world), commands_of(world));
  return searched(workshop, space);
}

// The paper does not describe a site that restarts, so this is no erratum.
Claim modulo_after_a_restart(Workshop& workshop, Findings& findings) {
  const LockWorld world{.sites = 2,
                        .entries = 2,
                        .budget = {.crashes = 1, .restarts = 1},
                        .variant = Variant::modulo};
  const LockModel model{.rules = rules_of(world)};
  check::Space<LockModel> space(model, freedom_of(world), commands_of(world));
  const std::optional<Shown> way = shown(
      workshop, space, LockLabels{},
      {.id = "lock-modulo",
       .title = "Numbers modulo 2n − 1 and a restart",
       .caption = "Shortest run, found by the checker: a restarted site takes a number that is "
                  "far behind for one that is ahead."},
      findings);
  const bool broken = way && way->violation.property == "exclusion";
  Claim claim = happens(cited_archimedean("2.2.5, ours",
                                          "numbers modulo 2n − 1 and a site that restarts without "
                                          "its memory: two clients are inside"),
                        broken ? 1 : 0, 1);
  if (broken) claim.diagram = "lock-modulo";
  return claim;
}

}  // namespace

Findings archimedean_lock_errata(Workshop& workshop) {
  Findings findings;
  for (const Printed& printed : all_printed())
    findings.claims.push_back(refuted(workshop, printed, findings));
  findings.claims.push_back(modulo_after_a_restart(workshop, findings));
  for (const Right& right : kRight) {
    const check::Finding finding = lock_search(workshop, right.world);
    findings.claims.push_back(holds_everywhere(cited_archimedean(right.section, right.says),
                                               finding.complete, finding.violation.has_value(),
                                               finding.states));
  }
  for (const LockWorld& world :
       {LockWorld{.contending = 3},
        LockWorld{.sites = 2, .entries = 2, .hold = 2, .budget = {.crashes = 1, .restarts = 1}}}) {
    const check::Finding finding = lock_search(workshop, world);
    findings.claims.push_back(holds_everywhere(
        cited_archimedean(
            "2.2",
            fmt::format("corrected, {} sites{}: exclusion holds, and all sites can come to rest",
                        world.sites,
                        world.budget.crashes > 0 ? ", one of which may crash and restart" : "")),
        finding.complete, finding.violation.has_value(), finding.states));
  }
  return findings;
}

}  // namespace tempo::papers
