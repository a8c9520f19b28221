#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/check.h"
#include "base/json.h"
#include "base/result.h"
#include "base/span_text.h"
#include "base/table.h"
#include "cli/common/choice.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/lock/lease_run.h"
#include "lab/studies/lock/mutex_run.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::cli {
namespace {

using lock::mutex::Variant;
using sim::lock::Kind;
using sim::lock::Outcome;
using sim::lock::Setup;

// Runs lease locks with the options of the other kinds. Holds and delays are the same; crashes,
// pauses and partitions are rates per second of simulated time, not per entry, because no site
// enters while they last.
Outcome run_lease(const Setup& setup) {
  const sim::lease::Setup lease{.sites = setup.sites,
                                .voters = std::min(setup.sites, lock::lease::kMaxVoters),
                                .contending = setup.contending,
                                .clients = 1,
                                .readers = static_cast<double>(setup.readers) / setup.contending,
                                .entries = setup.entries,
                                .stay = setup.step_max * (setup.longest_hold / 2),
                                .think = setup.delay_min,
                                .delay = setup.delay_max,
                                .faults = {.loss = setup.loss,
                                           .late = setup.late,
                                           .crashes_per_s = setup.crashes,
                                           .pauses_per_s = setup.pauses,
                                           .partitions_per_s = setup.partitions},
                                .seed = setup.seed};
  const sim::lease::Outcome played = sim::lease::run(lease);
  CHECK(played.broken == nullptr);
  Outcome outcome{.tally = played.tally, .crashes = played.crashes, .events = played.events};
  outcome.tally.violations += played.revivals;
  outcome.tally.deadlocks += played.blocked;
  return outcome;
}

struct KindRow {
  std::string_view name;
  Kind kind;
  Outcome (*run)(const Setup&);
};
constexpr std::array<KindRow, 5> kKinds{{{"mutex", Kind::mutex, sim::lock::run},
                                         {"rw", Kind::rw, sim::lock::run},
                                         {"optimistic", Kind::optimistic, sim::lock::run},
                                         {"explicit", Kind::replies, sim::lock::run},
                                         {"lease", Kind::lease, run_lease}}};

struct VariantRow {
  std::string_view name;
  Variant variant;
  bool waits;
};
constexpr std::array<VariantRow, 6> kVariants{
    {{"corrected", Variant::corrected, true},
     {"as-printed", Variant::as_printed, true},
     {"printed-window", Variant::printed_window, true},
     {"modulo", Variant::modulo, true},
     {"silent-second-timeout", Variant::silent_second_timeout, true},
     {"lamport", Variant::corrected, false}}};

constexpr std::uint32_t kMaxSites = 1000;
constexpr std::uint64_t kMaxEntries = 10'000'000'000;
constexpr double kLeastGamma = 0.01;
constexpr double kMaxFaults = 10;
constexpr double kMaxSleep = 100;
// Entries per run, and the largest number of runs: their results are kept until the end.
constexpr std::uint64_t kEntriesOfRun = 10'000;
constexpr std::uint64_t kMaxRuns = 1'000;

Result<void> refuse(std::string why) { return std::unexpected(std::move(why)); }

Result<void> within_bounds(const SimLockArguments& arguments, const Setup& setup) {
  if (setup.sites < 2 || setup.sites > kMaxSites)
    return refuse(fmt::format("--sites must be from 2 to {}, not {}", kMaxSites, setup.sites));
  if (setup.contending > setup.sites)
    return refuse(fmt::format("--contending must be from 1 to {} (--sites), not {}", setup.sites,
                              setup.contending));
  if (setup.readers > setup.contending)
    return refuse(fmt::format("--readers must be at most {} (--contending), not {}",
                              setup.contending, setup.readers));
  if (!(setup.gamma >= kLeastGamma && setup.gamma <= 1))
    return refuse(fmt::format("--gamma must be from {} to 1, not {:g}", kLeastGamma, setup.gamma));
  if (!(setup.sleep >= 0 && setup.sleep <= kMaxSleep))
    return refuse(
        fmt::format("--sleep must be from 0 to {:g} passes, not {:g}", kMaxSleep, setup.sleep));
  if (setup.entries < 1 || setup.entries > kMaxEntries)
    return refuse(
        fmt::format("--entries must be from 1 to {}, not {}", kMaxEntries, setup.entries));
  for (const auto& [name, part] : {std::pair{"--loss", setup.loss}, {"--late", setup.late}})
    if (!(part >= 0 && part < 1))
      return refuse(fmt::format("{} must be from 0 to below 1, not {:g}", name, part));
  for (const auto& [name, rate] : {std::pair{"--pauses", setup.pauses},
                                   {"--crashes", setup.crashes},
                                   {"--partitions", setup.partitions},
                                   {"--doubts", setup.doubts}})
    if (!(rate >= 0 && rate <= kMaxFaults))
      return refuse(fmt::format("{} must be from 0 to {:g}, not {:g}", name, kMaxFaults, rate));
  if (arguments.handlers != "serial" && arguments.handlers != "parallel")
    return refuse(
        fmt::format("--handlers must be serial or parallel, not '{}'", arguments.handlers));
  return {};
}

// Rejects options that lease locks do not have.
Result<void> check_lease_options(const SimLockArguments& arguments, const Setup& setup) {
  const SimLockArguments defaults;
  if (setup.sites > sim::lease::kMaxSites)
    return refuse(fmt::format("--kind lease allows at most {} sites, not {}", sim::lease::kMaxSites,
                              setup.sites));
  if (arguments.gamma != defaults.gamma || arguments.handlers != defaults.handlers ||
      arguments.sleep != defaults.sleep || setup.hold_outlives || setup.doubts > 0 ||
      setup.variant != Variant::corrected || !setup.waits)
    return refuse(
        "--gamma, --handlers, --sleep, --outlive, --doubts and --variant are not for --kind lease, "
        "which assumes bounds on clock rates only");
  return {};
}

// Rejects options that the kind does not have.
Result<void> check_options(const SimLockArguments& arguments, const Setup& setup) {
  if (setup.kind == Kind::lease) return check_lease_options(arguments, setup);
  const bool optimistic = setup.kind == Kind::optimistic;
  if (arguments.readers > 0 && setup.kind != Kind::rw && setup.kind != Kind::lease)
    return refuse(
        "--readers is for --kind rw and lease; optimistic has one writer, the others have no "
        "readers");
  if (optimistic && setup.contending < 2)
    return refuse("--kind optimistic needs a writer and a reader; use --contending 2 or more");
  if (optimistic && (setup.pauses > 0 || setup.crashes > 0 || setup.partitions > 0 ||
                     setup.doubts > 0 || setup.hold_outlives))
    return refuse("--kind optimistic supports no faults but --loss and --late");
  if (!setup.waits && !optimistic) return refuse("--variant lamport is for --kind optimistic");
  if (setup.variant != Variant::corrected && (optimistic || setup.kind == Kind::replies))
    return refuse(fmt::format("--variant {} is for --kind mutex and rw", arguments.variant));
  if ((setup.hold_outlives || setup.doubts > 0) && setup.kind == Kind::replies)
    return refuse("--outlive and --doubts are for --kind mutex and rw");
  if (setup.hold_outlives && setup.doubts > 0)
    return refuse(
        "--outlive and --doubts exclude each other: without bounds a site cannot know when a "
        "client that outlived it has left");
  return {};
}

Result<Setup> parse_plan(const SimLockArguments& arguments) {
  TRY(kind, chosen("--kind", kKinds, arguments.kind, &KindRow::name));
  TRY(variant, chosen("--variant", kVariants, arguments.variant, &VariantRow::name));
  const std::uint32_t contending =
      arguments.contending == 0 ? arguments.sites : arguments.contending;
  const std::uint32_t half = kind.kind == Kind::rw ? contending / 2 : 0;
  const Setup setup{.kind = kind.kind,
                    .sites = arguments.sites,
                    .contending = contending,
                    .readers = arguments.readers == 0 ? half : arguments.readers,
                    .gamma = arguments.gamma,
                    .entries = arguments.entries,
                    .variant = variant.variant,
                    .waits = variant.waits,
                    .serial = arguments.handlers == "serial",
                    .hold_outlives = arguments.outlive,
                    .sleep = arguments.sleep,
                    .loss = arguments.loss,
                    .late = arguments.late,
                    .crashes = arguments.crashes,
                    .pauses = arguments.pauses,
                    .partitions = arguments.partitions,
                    .doubts = arguments.doubts,
                    .seed = arguments.seed};
  if (const auto why_not = why_not_threads(arguments.threads)) return std::unexpected(*why_not);
  if (auto good = within_bounds(arguments, setup); !good) return std::unexpected(good.error());
  if (auto good = check_options(arguments, setup); !good) return std::unexpected(good.error());
  return setup;
}

double per_entry(const Outcome& sum, std::uint64_t count) {
  return static_cast<double>(count) /
         static_cast<double>(std::max<std::uint64_t>(sum.tally.entries, 1));
}
double milliseconds(Nanos span) { return static_cast<double>(span.count()) * 1e-6; }
Nanos p99(const Outcome& sum) {
  return sum.tally.waits.count() == 0 ? Nanos{0} : sum.tally.waits.quantile(0.99);
}

Json json_of(const SimLockArguments& arguments, const Outcome& sum, const Effort& effort) {
  Json json = Json::object();
  json.add("kind", arguments.kind)
      .add("variant", arguments.variant)
      .add("entries", sum.tally.entries)
      .add("violations", sum.tally.violations)
      .add("deadlocks", sum.tally.deadlocks)
      .add("token_disorder", sum.tally.token_disorder)
      .add("messages", sum.tally.messages)
      .add("refusals", sum.tally.refusals)
      .add("messages_per_entry", per_entry(sum, sum.tally.messages))
      .add("refusals_per_entry", per_entry(sum, sum.tally.refusals))
      .add("wait", Json::object()
                       .add("mean", milliseconds(sum.tally.waits.mean()))
                       .add("p99", milliseconds(p99(sum)))
                       .add("max", milliseconds(sum.tally.waits.longest()))
                       .add("unit", "ms"))
      .add("fairness", sum.tally.fairness())
      .add("asked_again", sum.asked_again)
      .add("crashes", sum.crashes)
      .add("beyond_bound", sum.beyond_bound)
      .add("longest_by_bound", sum.longest_by_bound)
      .add("attempts_per_entry", per_entry(sum, sum.attempts))
      .add("torn_reads", sum.torn);
  if (!is_captured())
    json.add("events_per_second",
             static_cast<double>(sum.events) / std::max(effort.elapsed_s, 1e-9));
  return json;
}

std::string table_text(const Setup& setup, const Outcome& sum, const Effort& effort) {
  report::Table table({"what", {"value", report::Align::right}});
  const auto count = [&](const char* what, std::uint64_t value) {
    table.row({what, fmt::format("{}", value)});
  };
  count("entries", sum.tally.entries);
  count("violations of exclusion", sum.tally.violations);
  count("deadlocks", sum.tally.deadlocks);
  count("tokens out of order", sum.tally.token_disorder);
  table.row({"messages per entry", fmt::format("{:.4f}", per_entry(sum, sum.tally.messages))});
  table.row({"refusals per entry", fmt::format("{:.4f}", per_entry(sum, sum.tally.refusals))});
  table.row({"wait in ms, mean / 99 % / max",
             fmt::format("{:.3f} / {:.3f} / {:.3f}", milliseconds(sum.tally.waits.mean()),
                         milliseconds(p99(sum)), milliseconds(sum.tally.waits.longest()))});
  table.row(
      {"fairness, most / fewest entries of a site", fmt::format("{:.3f}", sum.tally.fairness())});
  if (sum.longest_by_bound > 0)
    table.row({"longest wait / its bound", fmt::format("{:.3f}", sum.longest_by_bound)});
  if (setup.crashes > 0) count("crashes", sum.crashes);
  if (sum.asked_again > 0) count("requests repeated", sum.asked_again);
  if (setup.kind == Kind::optimistic) {
    table.row({"attempts per read", fmt::format("{:.4f}", per_entry(sum, sum.attempts))});
    count("torn reads accepted", sum.torn);
  }
  table.row({"entries per second", fmt::format("{:.0f}", static_cast<double>(sum.tally.entries) /
                                                             std::max(effort.elapsed_s, 1e-9))});
  return table.text();
}

}  // namespace

int sim_lock(const SimLockArguments& arguments) {
  const Result<Setup> setup = parse_plan(arguments);
  if (!setup) return bad_usage(setup.error());
  const auto kind = chosen("--kind", kKinds, arguments.kind, &KindRow::name);
  const std::uint64_t of_run = std::max(kEntriesOfRun, (setup->entries + kMaxRuns - 1) / kMaxRuns);
  const std::uint64_t runs = (setup->entries + of_run - 1) / of_run;
  std::vector<Outcome> outcomes(runs);
  const Effort effort = run_in_parallel(
      {.count = runs, .what = "entries", .unit = "runs"}, workers_for(arguments.threads),
      [&](std::uint32_t /*worker*/, std::uint64_t number) {
        Setup one = *setup;
        one.seed = setup->seed + number;
        one.entries = std::min(of_run, setup->entries - number * of_run);
        outcomes[number] = kind->run(one);
      });
  Outcome sum;
  for (const Outcome& one : outcomes) sum.add(one);
  if (arguments.json)
    print_json(json_of(arguments, sum, effort));
  else
    print("{}", table_text(*setup, sum, effort));
  return effort.interrupted ? kInterrupted : kDone;
}

}  // namespace tempo::cli
