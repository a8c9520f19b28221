#include "lab/cli/sim/sim_ring.h"

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
#include "lab/cli/sim/ring_counts.h"
#include "lab/cli/sim/ring_runs.h"
#include "lab/studies/ring/masking.h"

namespace tempo::cli {
namespace {

constexpr std::uint32_t kMaxStations = 1'024;
constexpr std::uint32_t kMaxRange = 1U << 16;
constexpr std::uint32_t kMaxStages = 512;
constexpr std::uint64_t kMaxRuns = 10'000'000;
constexpr std::uint64_t kMaxFastRuns = 1'000'000'000'000;
constexpr double kLeastGamma = 0.01;
constexpr double kMaxLossAnonymous = 0.2;  // beyond it the time of a phase passes all bounds

int refuse(const std::string& why) {
  print_error("tempo sim: {}\n", why);
  return kBadUsage;
}

Result<void> understand_anonymous(const SimRingArguments& arguments) {
  if (arguments.stages < 1 || arguments.stages > kMaxStages)
    return std::unexpected(
        fmt::format("--stages must be from 1 to {}, not {}", kMaxStages, arguments.stages));
  if (!(arguments.gamma >= kLeastGamma && arguments.gamma <= 1))
    return std::unexpected(
        fmt::format("--gamma is rmin/rmax: from {} to 1, not {}", kLeastGamma, arguments.gamma));
  if (arguments.loss > kMaxLossAnonymous)
    return std::unexpected(fmt::format("--loss must be at most {} on an anonymous ring, not {}",
                                       kMaxLossAnonymous, arguments.loss));
  if (arguments.candidates > std::min(arguments.stations, 64U))
    return std::unexpected(fmt::format("--candidates must be from 1 to {}, not {}",
                                       std::min(arguments.stations, 64U), arguments.candidates));
  if (arguments.first_is_fast && arguments.candidates < 2)
    return std::unexpected("--first-is-fast compares candidates: it needs --candidates 2 or more");
  if (arguments.faulty > 0)
    return std::unexpected("--faulty is about the equitable ring and its rivals");
  return {};
}

Result<void> understand_equitable(const SimRingArguments& arguments) {
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
    return std::unexpected("--candidates and --first-is-fast are about the anonymous ring");
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
        "--variant of the {} ring is {}, not '{}'", arguments.kind,
        equitable ? "equitable, ties-by-id or highest-id" : "corrected or printed-next-timer",
        arguments.variant));
  return arguments.variant;
}

Result<void> understand_common(const SimRingArguments& arguments) {
  if (arguments.kind != "equitable" && arguments.kind != "anonymous")
    return std::unexpected(
        fmt::format("--kind is equitable or anonymous, not '{}'", arguments.kind));
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
      return std::unexpected(
          fmt::format("{} is a probability: at least 0 and below 1, not {}", name, probability));
  if (arguments.crash >= arguments.stations)
    return std::unexpected(
        fmt::format("--crash must be below --stations: somebody has to be left"));
  if (arguments.runs > 1 && (arguments.trace || !arguments.diagram.empty()))
    return std::unexpected(
        "--trace and --diagram show one run; leave out --runs, and choose the run by --seed");
  if (arguments.trace && arguments.json)
    return std::unexpected("--trace is for people and --json for programs; choose one");
  return {};
}

Result<void> understand_fast(const SimRingArguments& arguments, const std::string& variant) {
  if (!arguments.fast) return {};
  if (arguments.loss > 0 || arguments.duplicate > 0 || arguments.crash > 0 ||
      arguments.faulty > 0 || arguments.trace || !arguments.diagram.empty() ||
      arguments.gamma != 1 || (variant != "equitable" && variant != "corrected"))
    return std::unexpected(
        "--fast draws rounds and phases alone: leave out loss, crashes, faulty stations, gamma, "
        "variants and traces");
  return {};
}

Result<RingAsked> parse_plan(const SimRingArguments& arguments) {
  if (const Result<void> done = understand_common(arguments); !done)
    return std::unexpected(done.error());
  const Result<void> kind = arguments.kind == "equitable" ? understand_equitable(arguments)
                                                          : understand_anonymous(arguments);
  if (!kind) return std::unexpected(kind.error());
  TRY(variant, variant_of(arguments));
  if (const Result<void> done = understand_fast(arguments, variant); !done)
    return std::unexpected(done.error());
  return RingAsked{.kind = arguments.kind,
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

std::string replay_line(const SimRingArguments& arguments, const RingAsked& asked,
                        std::uint64_t seed) {
  std::string line = fmt::format("tempo sim ring --kind {} --stations {} --variant {}", asked.kind,
                                 asked.stations, asked.variant);
  line += asked.kind == "equitable"
              ? fmt::format(" --range {}", asked.range)
              : fmt::format(" --stages {} --gamma {}", asked.stages, asked.gamma);
  if (asked.loss > 0) line += fmt::format(" --loss {}", asked.loss);
  if (asked.duplicate > 0) line += fmt::format(" --duplicate {}", asked.duplicate);
  if (asked.crash > 0) line += fmt::format(" --crash {}", asked.crash);
  if (asked.faulty > 0) line += fmt::format(" --faulty {}", asked.faulty);
  if (asked.candidates > 0) line += fmt::format(" --candidates {}", asked.candidates);
  if (arguments.first_is_fast) line += " --first-is-fast";
  return line + fmt::format(" --seed {}", seed);
}

// The run as it was, message by message.
bool show_run(const SimRingArguments& arguments, const RingAsked& asked) {
  sim::Trace trace(true);
  if (asked.kind == "equitable")
    sim::ring::run(equitable_setup(asked), &trace);
  else
    sim::ring::run(anonymous_setup(asked, arguments.first_is_fast), &trace);
  if (arguments.trace) print("{}", sim::text(trace, true));
  if (arguments.diagram.empty()) return true;
  return show_diagram(trace,
                      {.title = fmt::format("Ring: {}", asked.variant),
                       .subtitle = replay_line(arguments, asked, asked.seed),
                       .nodes = asked.stations},
                      arguments.diagram);
}

void print_answer(bool json, const RingAsked& asked, const RingCounts& counts,
                  const std::string& shard) {
  print("{}", json ? ring_json(asked, counts, shard).text() : ring_table(asked, counts));
}

}  // namespace

int sim_ring(const SimRingArguments& arguments) {
  const Result<RingAsked> asked = parse_plan(arguments);
  if (!asked) return refuse(asked.error());
  const Result<Shard> shard = shard_of(arguments.shard);
  if (!shard) return refuse(shard.error());
  const RingRuns runs = run_rings(*asked, arguments.first_is_fast, *shard, arguments.threads);
  const bool shows = arguments.trace || !arguments.diagram.empty();
  if (shows && !show_run(arguments, *asked)) return kBadUsage;
  if (!arguments.trace && arguments.diagram != "-")
    print_answer(arguments.json, *asked, runs.counts, arguments.shard);
  if (runs.interrupted) print_error("tempo: interrupted after {} runs\n", runs.counts.runs);
  if (!runs.broken.empty()) {
    print_error("broken: {}\nreplay: {}\n", runs.broken,
                replay_line(arguments, *asked, runs.broken_seed));
    return kViolation;
  }
  return runs.interrupted ? kInterrupted : kDone;
}

int sim_merge(const SimMergeArguments& arguments) {
  std::optional<RingPart> sum;
  std::set<std::string> shards;
  for (const std::string& path : arguments.files) {
    const std::optional<std::string> text = read_file(path);
    if (!text) return refuse(fmt::format("cannot read {}", path));
    Result<RingPart> part = parse_ring_part(*text);
    if (!part) return refuse(fmt::format("{}: {}", path, part.error()));
    if (!shards.insert(part->shard).second)
      return refuse(fmt::format("{}: shard {} is there twice; name each part once", path,
                                part->shard.empty() ? "1/1" : part->shard));
    if (!sum) {
      sum = std::move(*part);
      continue;
    }
    if (sum->asked != part->asked)
      return refuse(fmt::format("{}: this part was made with other options than the first", path));
    sum->counts += part->counts;
  }
  if (sum->counts.runs < sum->asked.runs)
    print_error("tempo: {} of {} runs; some shards are missing\n", sum->counts.runs,
                sum->asked.runs);
  print_answer(arguments.json, sum->asked, sum->counts, "");
  return kDone;
}

}  // namespace tempo::cli
