#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/analysis/chain_samples.h"
#include "lab/analysis/equitable.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"
#include "lab/cli/shard.h"
#include "lab/cli/sim/commands.h"
#include "lab/cli/sim/ring_counts.h"
#include "lab/cli/sim/ring_runs.h"
#include "lab/studies/group/ring/masking.h"

namespace tempo::cli {
namespace {

constexpr std::uint32_t kMaxStations = 1'024;
constexpr std::uint32_t kMaxRange = 1U << 16;
constexpr std::uint32_t kMaxStages = 512;
constexpr std::uint64_t kMaxRuns = 10'000'000;
constexpr std::uint64_t kMaxFastRuns = 1'000'000'000'000;
constexpr double kLeastGamma = 0.01;
constexpr double kMaxLossAnonymous = 0.2;  // above it a phase exceeds every time bound

Result<void> check_anonymous(const SimRingArguments& arguments) {
  if (arguments.stages < 1 || arguments.stages > kMaxStages)
    return std::unexpected(
        fmt::format("--stages must be from 1 to {}, not {}", kMaxStages, arguments.stages));
  if (!(arguments.gamma >= kLeastGamma && arguments.gamma <= 1))
    return std::unexpected(fmt::format("--gamma is rmin/rmax and must be from {} to 1, not {}",
                                       kLeastGamma, arguments.gamma));
  if (arguments.loss > kMaxLossAnonymous)
    return std::unexpected(fmt::format("--loss must be at most {} on an anonymous ring, not {}",
                                       kMaxLossAnonymous, arguments.loss));
  if (arguments.candidates > std::min(arguments.stations, 64U))
    return std::unexpected(fmt::format("--candidates must be from 1 to {}, not {}",
                                       std::min(arguments.stations, 64U), arguments.candidates));
  if (arguments.first_is_fast && arguments.candidates < 2)
    return std::unexpected("--first-is-fast needs --candidates 2 or more");
  if (arguments.faulty > 0) return std::unexpected("--faulty is for --kind equitable");
  return {};
}

Result<void> check_equitable(const SimRingArguments& arguments) {
  if (arguments.range < 2 || arguments.range > kMaxRange)
    return std::unexpected(
        fmt::format("--range must be from 2 to {}, not {}", kMaxRange, arguments.range));
  if (arguments.loss > sim::ring::kMaxLoss)
    return std::unexpected(
        fmt::format("--loss must be at most {}, not {}", sim::ring::kMaxLoss, arguments.loss));
  if (arguments.faulty > arguments.stations)
    return std::unexpected(
        fmt::format("--faulty must be at most --stations, not {}", arguments.faulty));
  if (arguments.candidates > 0 || arguments.first_is_fast)
    return std::unexpected("--candidates and --first-is-fast are for --kind anonymous");
  return {};
}

Result<std::string> variant_of(const SimRingArguments& arguments) {
  const bool equitable = arguments.kind == "equitable";
  const std::vector<std::string> known =
      equitable ? std::vector<std::string>{"equitable", "ties-by-id", "highest-id"}
                : std::vector<std::string>{"corrected", "printed-next-timer"};
  if (arguments.variant.empty()) return known.front();
  if (std::ranges::find(known, arguments.variant) == known.end())
    return std::unexpected(fmt::format(
        "--variant of --kind {} must be {}, not '{}'", arguments.kind,
        equitable ? "equitable, ties-by-id or highest-id" : "corrected or printed-next-timer",
        arguments.variant));
  return arguments.variant;
}

Result<void> check_common(const SimRingArguments& arguments) {
  if (arguments.kind != "equitable" && arguments.kind != "anonymous")
    return std::unexpected(
        fmt::format("--kind must be equitable or anonymous, not '{}'", arguments.kind));
  if (arguments.stations < 1 || arguments.stations > kMaxStations)
    return std::unexpected(
        fmt::format("--stations must be from 1 to {}, not {}", kMaxStations, arguments.stations));
  const std::uint64_t most = arguments.fast ? kMaxFastRuns : kMaxRuns;
  if (arguments.runs < 1 || arguments.runs > most)
    return std::unexpected(
        fmt::format("--runs must be from 1 to {}, not {}", most, arguments.runs));
  if (const auto why_not = why_not_threads(arguments.threads)) return std::unexpected(*why_not);
  for (const auto& [name, probability] :
       {std::pair{"--loss", arguments.loss}, {"--duplicate", arguments.duplicate}})
    if (!(probability >= 0 && probability < 1))
      return std::unexpected(fmt::format(
          "{} is a probability and must be from 0 to below 1, not {}", name, probability));
  if (arguments.crash >= arguments.stations)
    return std::unexpected("--crash must be below --stations: one station must remain");
  if (arguments.runs > 1 && (arguments.trace || !arguments.diagram.empty()))
    return std::unexpected(
        "--trace and --diagram show one run; leave out --runs, and choose the run by --seed");
  if (const auto conflict = json_conflict(arguments.json, arguments.trace, arguments.diagram))
    return std::unexpected(*conflict);
  return {};
}

Result<void> check_fast(const SimRingArguments& arguments, const std::string& variant) {
  if (!arguments.fast) return {};
  if (arguments.loss > 0 || arguments.duplicate > 0 || arguments.crash > 0 ||
      arguments.faulty > 0 || arguments.trace || !arguments.diagram.empty() ||
      arguments.gamma != 1 || (variant != "equitable" && variant != "corrected"))
    return std::unexpected(
        "--fast draws rounds and phases only; leave out --loss, --duplicate, --crash, --faulty, "
        "--gamma, --variant, --trace and --diagram");
  return {};
}

Result<RingPlan> parse_plan(const SimRingArguments& arguments) {
  if (const Result<void> done = check_common(arguments); !done)
    return std::unexpected(done.error());
  const Result<void> kind =
      arguments.kind == "equitable" ? check_equitable(arguments) : check_anonymous(arguments);
  if (!kind) return std::unexpected(kind.error());
  TRY(variant, variant_of(arguments));
  if (const Result<void> done = check_fast(arguments, variant); !done)
    return std::unexpected(done.error());
  return RingPlan{.kind = arguments.kind,
                  .stations = arguments.stations,
                  .range = arguments.range,
                  .stages = arguments.stages,
                  .gamma = arguments.gamma,
                  .loss = arguments.loss,
                  .duplicate = arguments.duplicate,
                  .crash = arguments.crash,
                  .faulty = arguments.faulty,
                  .candidates = arguments.candidates,
                  .variant = variant,
                  .fast = arguments.fast,
                  .seed = arguments.seed,
                  .runs = arguments.runs};
}

std::string replay_line(const SimRingArguments& arguments, const RingPlan& plan,
                        std::uint64_t seed) {
  std::string line = fmt::format("tempo-lab sim ring --kind {} --stations {} --variant {}",
                                 plan.kind, plan.stations, plan.variant);
  line += plan.kind == "equitable"
              ? fmt::format(" --range {}", plan.range)
              : fmt::format(" --stages {} --gamma {}", plan.stages, plan.gamma);
  if (plan.loss > 0) line += fmt::format(" --loss {}", plan.loss);
  if (plan.duplicate > 0) line += fmt::format(" --duplicate {}", plan.duplicate);
  if (plan.crash > 0) line += fmt::format(" --crash {}", plan.crash);
  if (plan.faulty > 0) line += fmt::format(" --faulty {}", plan.faulty);
  if (plan.candidates > 0) line += fmt::format(" --candidates {}", plan.candidates);
  if (arguments.first_is_fast) line += " --first-is-fast";
  return line + fmt::format(" --seed {}", seed);
}

// Prints or draws one run, message by message.
bool show_run(const SimRingArguments& arguments, const RingPlan& plan) {
  sim::Trace trace(true);
  if (plan.kind == "equitable")
    sim::ring::run(equitable_setup(plan), &trace);
  else
    sim::ring::run(anonymous_setup(plan, arguments.first_is_fast), &trace);
  if (arguments.trace) print("{}", sim::text(trace, true));
  if (arguments.diagram.empty()) return true;
  return show_diagram(trace,
                      {.title = fmt::format("Ring: {}", plan.variant),
                       .subtitle = replay_line(arguments, plan, plan.seed),
                       .nodes = plan.stations},
                      arguments.diagram);
}

void print_answer(bool json, const RingPlan& plan, const RingCounts& counts,
                  const std::string& shard) {
  if (json)
    print_json(ring_json(plan, counts, shard));
  else
    print("{}", ring_table(plan, counts));
}

}  // namespace

int sim_ring(const SimRingArguments& arguments) {
  const Result<RingPlan> plan = parse_plan(arguments);
  if (!plan) return bad_usage(plan.error());
  const Result<Shard> shard = shard_of(arguments.shard);
  if (!shard) return bad_usage(shard.error());
  const RingRuns runs = run_rings(*plan, arguments.first_is_fast, *shard, arguments.threads);
  const bool shows = arguments.trace || !arguments.diagram.empty();
  if (shows && !show_run(arguments, *plan)) return kBadUsage;
  if (!arguments.trace && arguments.diagram != "-")
    print_answer(arguments.json, *plan, runs.counts, arguments.shard);
  if (runs.interrupted) print_error("tempo-lab: interrupted after {} runs\n", runs.counts.runs);
  if (!runs.broken.empty()) {
    print_error("violated: {}\nreplay: {}\n", runs.broken,
                replay_line(arguments, *plan, runs.broken_seed));
    return kViolation;
  }
  return runs.interrupted ? kInterrupted : kDone;
}

int sim_merge(const SimMergeArguments& arguments) {
  std::optional<RingPart> sum;
  std::set<std::string> shards;
  for (const std::string& path : arguments.files) {
    const std::optional<std::string> text = read_file(path);
    if (!text)
      return bad_usage(fmt::format("cannot read {}; check its name and permissions", path));
    Result<RingPart> part = parse_ring_part(*text);
    if (!part) return bad_usage(fmt::format("{}: {}", path, part.error()));
    if (!shards.insert(part->shard).second)
      return bad_usage(fmt::format("{}: shard {} was given twice; give each shard once", path,
                                   part->shard.empty() ? "1/1" : part->shard));
    if (!sum) {
      sum = std::move(*part);
      continue;
    }
    if (sum->plan != part->plan)
      return bad_usage(fmt::format(
          "{}: this shard and the first one have different options; give the shards of one run",
          path));
    sum->counts += part->counts;
  }
  // JSON has both numbers of runs.
  if (sum->counts.runs < sum->plan.runs && !arguments.json)
    print_error("tempo-lab: {} of {} runs; give the missing shards too\n", sum->counts.runs,
                sum->plan.runs);
  print_answer(arguments.json, sum->plan, sum->counts, "");
  return kDone;
}

}  // namespace tempo::cli
