#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "lab/check/lock/lock_model.h"
#include "lab/papers/archimedean_paper.h"
#include "lab/papers/check_trace.h"
#include "lab/sim/lock/run.h"

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

// What is printed, what the checker is to find, and how it shows in simulations.
struct Printed {
  const char* section;
  const char* says;
  const char* would_be;
  const char* repair;
  const char* id;
  const char* title;
  const char* caption;
  LockWorld world;
  Setup setup;
};

Claim refuted(Workshop& workshop, const Printed& printed, Findings& findings) {
  const LockModel model{.rules = rules_of(printed.world)};
  check::Space<LockModel> space(model, freedom_of(printed.world), commands_of(printed.world));
  const check::Finding finding = searched(workshop, space);
  const bool broken = finding.violation && finding.violation->promise == "exclusion";
  if (broken)
    findings.diagrams.push_back(diagram_of(drawn_way(space, *finding.violation, LockLabels{}).trace,
                                           printed.id, printed.title, printed.caption,
                                           {.nodes = printed.world.sites}));
  const std::uint64_t runs = std::max<std::uint64_t>(2, workshop.runs(20'000) / kEntriesOfRun);
  const auto outcomes = gathered(workshop, runs, [&](std::uint64_t number) {
    Setup one = printed.setup;
    one.seed = workshop.seed() + number;
    one.entries = std::min(kEntriesOfRun, workshop.runs(20'000));
    return run(one);
  });
  Outcome sum;
  for (const Outcome& one : outcomes) sum.add(one);
  return erratum(
      said_of_archimedean(printed.section, printed.says),
      {.printed = printed.would_be,
       .seen = broken ? fmt::format("two inside after {} steps; {} of {} simulated entries, {} of "
                                    "{} runs end in deadlock",
                                    finding.violation->stem.size(), sum.tally.violations,
                                    sum.tally.entries, sum.tally.deadlocks, outcomes.size())
                      : "nothing was found",
       .repair = printed.repair,
       .found = broken,
       .diagram = printed.id});
}

const std::array<Printed, 4>& all_printed() {
  static const std::array<Printed, 4> all{
      {{"2.2.1, process (a)",
        "the sequence number is taken, and only then the site sleeps",
        "two are never inside",
        "the number is taken after the sleep, in the step in which the request is sent",
        "lock-number-before-sleep",
        "A number taken before the sleep",
        "The shortest way, found by the checker. Who slept asks with an old number and is not "
        "refused by the one inside. A tick is a millisecond.",
        {.sites = 2, .hold = 2, .variant = Variant::as_printed},
        {.variant = Variant::as_printed}},
       {"2.2.5",
        "a refuser that crashed is detected by another time-out, without sending a message",
        "two are never inside",
        "the refuser is asked again; its silence within a window is consent",
        "lock-second-timeout",
        "A second time-out without a message",
        "The shortest way, found by the checker, and nobody has crashed: the refuser is itself "
        "waiting. No time-out is long enough.",
        {.contending = 3, .hold = 3, .variant = Variant::silent_second_timeout},
        {.variant = Variant::silent_second_timeout}},
       {"2.2.5",
        "sequence numbers may be kept modulo 2n − 1",
        "two are never inside",
        "numbers of 64 bits",
        "lock-modulo",
        "Numbers modulo 2n − 1",
        "The shortest way, found by the checker: a site that restarts takes a number far behind "
        "for one ahead.",
        {.sites = 2,
         .entries = 2,
         .budget = {.crashes = 1, .restarts = 1},
         .variant = Variant::modulo},
        {.variant = Variant::modulo, .crashes = 0.3}},
       {"3.1",
        "readers never refuse readers, and all else stays as it is",
        "two in conflict are never inside",
        "the same corrections as for mutual exclusion",
        "lock-readers-writers",
        "Readers and writers, as printed",
        "The shortest way, found by the checker: a writer and a reader are inside together.",
        {.sites = 2, .readers = 1, .hold = 2, .variant = Variant::as_printed},
        {.kind = Kind::rw, .readers = 2, .variant = Variant::as_printed}}}};
  return all;
}

}  // namespace

Findings archimedean_lock_errata(Workshop& workshop) {
  Findings findings;
  for (const Printed& printed : all_printed())
    findings.claims.push_back(refuted(workshop, printed, findings));
  for (const LockWorld& world :
       {LockWorld{.contending = 3},
        LockWorld{.sites = 2, .entries = 2, .hold = 2, .budget = {.crashes = 1, .restarts = 1}}}) {
    const LockModel model{.rules = rules_of(world)};
    check::Space<LockModel> space(model, freedom_of(world), commands_of(world));
    const check::Finding finding = searched(workshop, space);
    findings.claims.push_back(holds_everywhere(
        said_of_archimedean(
            "2.2",
            fmt::format("corrected, {} sites{}: exclusion, and all can come to rest", world.sites,
                        world.budget.crashes > 0 ? ", one may crash and restart" : "")),
        finding.complete, finding.violation.has_value(), finding.states));
  }
  return findings;
}

}  // namespace tempo::papers
