#include "lab/cli/sim/ring_runs.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "lab/analysis/chain_samples.h"
#include "lab/analysis/equitable.h"
#include "lab/analysis/lanes.h"
#include "lab/cli/parallel_runs.h"

namespace tempo::cli {
namespace {

using tempo::election::ring::Method;

std::uint64_t width(std::uint64_t values) {
  return static_cast<std::uint64_t>(std::bit_width(values - 1));
}

Method method_of(const std::string& variant) {
  if (variant == "ties-by-id") return Method::ties_by_id;
  return variant == "highest-id" ? Method::highest_id : Method::equitable;
}

void add_violation(RingRuns& sum, const std::string& broken, std::uint64_t seed) {
  if (broken.empty()) return;
  ++sum.counts.violations;
  if (sum.broken.empty() || seed < sum.broken_seed) {
    sum.broken = broken;
    sum.broken_seed = seed;
  }
}

void run_equitable(const RingPlan& plan, std::uint64_t number, RingRuns& sum) {
  sim::ring::EquitableSetup setup = equitable_setup(plan);
  setup.seed = plan.seed + number;
  const sim::ring::EquitableOutcome outcome = sim::ring::run(setup);
  RingCounts& counts = sum.counts;
  ++counts.runs;
  ++counts.leaders[outcome.leaders];
  ++counts.rounds[outcome.rounds];
  ++counts.productive[outcome.productive];
  counts.hops += outcome.hops;
  counts.announcement_hops += outcome.announcement_hops;
  counts.bits += outcome.bits;
  counts.buffer_max = std::max<std::uint64_t>(counts.buffer_max, outcome.buffer_max);
  counts.elections += outcome.elections;
  counts.reelections += outcome.faulty_first ? 1 : 0;
  counts.faulty_again += outcome.faulty_again ? 1 : 0;
  counts.hash += outcome.hash;
  counts.wins.resize(plan.stations);
  if (outcome.leader != kNobody) ++counts.wins[index(outcome.leader)];
  add_violation(sum, outcome.broken, setup.seed);
}

void run_anonymous(const RingPlan& plan, bool first_is_fast, std::uint64_t number, RingRuns& sum) {
  sim::ring::AnonymousSetup setup = anonymous_setup(plan, first_is_fast);
  setup.seed = plan.seed + number;
  const sim::ring::AnonymousOutcome outcome = sim::ring::run(setup);
  RingCounts& counts = sum.counts;
  ++counts.runs;
  ++counts.leaders[outcome.leaders];
  ++counts.first_phase_leaders[outcome.first_phase_leaders];
  ++counts.rounds[outcome.phases];
  counts.hops += outcome.messages;
  counts.bits += outcome.bits;
  counts.hash += outcome.hash;
  counts.wins.resize(plan.stations);
  for (const NodeId leader : outcome.elected) ++counts.wins[index(leader)];
  add_violation(sum, outcome.broken, setup.seed);
}

void add(const std::vector<std::uint64_t>& from, Histogram& to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] > 0) to[static_cast<std::uint32_t>(i)] += from[i];
}

// Runs one block of the Monte Carlo simulation; the last block may be shorter.
void draw_block(const RingPlan& plan, std::uint64_t block, RingRuns& sum) {
  RingCounts& counts = sum.counts;
  const auto number = static_cast<std::uint32_t>(block);
  const auto elections = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(monte_carlo::kBlock, plan.runs - block * monte_carlo::kBlock));
  counts.runs += elections;
  if (plan.kind == "anonymous") {
    const monte_carlo::AnonymousCounts drawn = monte_carlo::run_block(
        monte_carlo::Anonymous{
            .stations = plan.stations, .stages = plan.stages, .candidates = plan.candidates},
        plan.seed, number, elections);
    add(drawn.phases, counts.rounds);
    add(drawn.leaders, counts.leaders);
    add(drawn.first_leaders, counts.first_phase_leaders);
    return;
  }
  const monte_carlo::EquitableCounts drawn = monte_carlo::run_block(
      monte_carlo::Equitable{.stations = plan.stations, .range = plan.range, .winners = true},
      plan.seed, number, elections);
  add(drawn.rounds, counts.rounds);
  add(drawn.productive, counts.productive);
  counts.leaders[1] += elections;
  counts.wins.resize(plan.stations);
  for (std::size_t i = 0; i < drawn.wins.size(); ++i) counts.wins[i] += drawn.wins[i];
  const std::uint64_t n = plan.stations;
  for (std::size_t rounds = 0; rounds < drawn.rounds.size(); ++rounds)
    counts.hops += n * (rounds + 1) * drawn.rounds[rounds];
  counts.announcement_hops += n * elections;
  counts.bits = counts.hops * (width(n) + width(plan.range));
}

void add(RingRuns& sum, const RingRuns& more) {
  sum.counts += more.counts;
  if (more.broken.empty() || (!sum.broken.empty() && sum.broken_seed <= more.broken_seed)) return;
  sum.broken = more.broken;
  sum.broken_seed = more.broken_seed;
}

// Runs the pieces of work of this shard, in several threads. Pieces are numbered from 0 and
// distributed among the shards in turn.
RingRuns in_parallel(std::uint64_t pieces, const Shard& shard, std::uint32_t threads,
                     const char* unit, const std::function<void(std::uint64_t, RingRuns&)>& work) {
  const std::uint64_t own_pieces = pieces / shard.of + (shard.number <= pieces % shard.of ? 1 : 0);
  std::vector<RingRuns> sums(workers_for(threads));
  const Effort effort = run_in_parallel({.count = own_pieces, .what = "rings", .unit = unit},
                                        static_cast<std::uint32_t>(sums.size()),
                                        [&](std::uint32_t worker, std::uint64_t number) {
                                          work(number * shard.of + shard.number - 1, sums[worker]);
                                        });
  RingRuns sum;
  for (const RingRuns& each : sums) add(sum, each);
  sum.interrupted = effort.interrupted;
  return sum;
}

}  // namespace

sim::ring::EquitableSetup equitable_setup(const RingPlan& plan) {
  return {.stations = plan.stations,
          .range = plan.range,
          .method = method_of(plan.variant),
          .loss = plan.loss,
          .duplicate = plan.duplicate,
          .crashes = plan.crash,
          .faulty = plan.faulty,
          .seed = plan.seed};
}

sim::ring::AnonymousSetup anonymous_setup(const RingPlan& plan, bool first_is_fast) {
  const bool printed = plan.variant == "printed-next-timer";
  return {.stations = plan.stations,
          .stages = plan.stages,
          .gamma = plan.gamma,
          .loss = plan.loss,
          .duplicate = plan.duplicate,
          .crashes = plan.crash,
          .printed_next_timer = printed,
          .candidates = plan.candidates,
          .first_is_fast = first_is_fast,
          // Variable delays would desynchronize candidates that must stay in step.
          .steady_delay = plan.candidates > 0 && plan.gamma == 1,
          .most_phases = printed ? 1'000U : 10'000U,
          .seed = plan.seed};
}

RingRuns run_rings(const RingPlan& plan, bool first_is_fast, const Shard& shard,
                   std::uint32_t threads) {
  if (plan.fast)
    return in_parallel((plan.runs + monte_carlo::kBlock - 1) / monte_carlo::kBlock, shard, threads,
                       "blocks",
                       [&](std::uint64_t block, RingRuns& sum) { draw_block(plan, block, sum); });
  return in_parallel(plan.runs, shard, threads, "runs", [&](std::uint64_t number, RingRuns& sum) {
    if (plan.kind == "anonymous")
      run_anonymous(plan, first_is_fast, number, sum);
    else
      run_equitable(plan, number, sum);
  });
}

}  // namespace tempo::cli
