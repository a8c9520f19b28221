#include "lab/cli/sim/election_runs.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "lab/cli/parallel_runs.h"

namespace tempo::cli {
namespace {

using sim::election::Outcome;
using sim::election::Setup;

constexpr std::size_t kMaxRepetitions = 16;

// The part of an Outcome that the sum needs.
struct RunResult {
  bool done = false;
  bool reached = false;
  bool ever_two_masters = false;
  bool collided = false;
  std::uint32_t masters = 0;
  std::uint32_t violations = 0;
  Nanos time_to_master{0};
  Nanos repair{0};
  std::uint64_t election_messages = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
};

Tally tally(const std::vector<RunResult>& results, std::uint64_t first_seed) {
  Tally sum;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunResult& result = results[i];
    if (!result.done) continue;
    ++sum.runs;
    sum.one_master += result.masters == 1;
    sum.no_master += result.masters == 0;
    sum.several_masters += result.masters > 1;
    sum.ever_two_masters += result.ever_two_masters;
    sum.collisions += result.collided;
    if (result.violations > 0 && sum.violations == 0) sum.broken_seed = first_seed + i;
    sum.violations += result.violations;
    sum.events += result.events;
    sum.messages += result.election_messages;
    sum.most_messages = std::max(sum.most_messages, result.election_messages);
    sum.longest_repair = std::max(sum.longest_repair, result.repair);
    sum.hash = sim::mixed(sum.hash, result.trace_hash);
    if (result.reached) sum.times.push_back(printed_seconds(result.time_to_master));
  }
  std::ranges::sort(sum.times);
  return sum;
}

}  // namespace

Tally many_runs(const SimElectionArguments& arguments, const ElectionPlan& plan) {
  std::vector<RunResult> results(arguments.runs);
  std::array<std::atomic<std::uint64_t>, kMaxRepetitions> attempts_made{};
  std::array<std::atomic<std::uint64_t>, kMaxRepetitions> attempts_collided{};
  const auto one_run = [&](std::uint32_t /*worker*/, std::uint64_t number) {
    Setup setup = plan.setup;
    setup.seed = arguments.seed + number;
    const Outcome outcome = run(*plan_of(plan.scenario, setup, plan.until));
    results[number] = {
        .done = true,
        .reached = outcome.reached,
        .ever_two_masters = outcome.ever_two_masters,
        .collided = !outcome.attempts.empty() && outcome.attempts.front().collided != 0,
        .masters = outcome.masters,
        .violations = static_cast<std::uint32_t>(outcome.violation_count),
        .time_to_master = outcome.time_to_master,
        .repair = outcome.repair,
        .election_messages = outcome.election_messages,
        .trace_hash = outcome.trace_hash,
        .events = outcome.events};
    for (std::size_t i = 0; i < outcome.attempts.size() && i < kMaxRepetitions; ++i) {
      attempts_made[i] += outcome.attempts[i].made;
      attempts_collided[i] += outcome.attempts[i].collided;
    }
  };
  const std::uint32_t workers = workers_for(arguments.threads);
  const Effort effort =
      run_in_parallel({.count = arguments.runs, .what = arguments.scenario}, workers, one_run);
  Tally sum = tally(results, arguments.seed);
  sum.threads = workers;
  sum.elapsed_s = effort.elapsed_s;
  for (std::size_t i = 0; i < kMaxRepetitions && attempts_made[i] > 0; ++i)
    sum.attempts.push_back({.made = attempts_made[i], .collided = attempts_collided[i]});
  return sum;
}

}  // namespace tempo::cli
