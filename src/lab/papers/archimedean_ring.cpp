#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "lab/analysis/anonymous_ring.h"
#include "lab/analysis/chain_samples.h"
#include "lab/analysis/lanes.h"
#include "lab/papers/archimedean_paper.h"
#include "lab/studies/group/ring/anonymous.h"

namespace tempo::papers {
namespace {

using report::Chart;
using report::Mark;
using report::Series;
using sim::ring::AnonymousOutcome;
using sim::ring::AnonymousSetup;

Statement cited(std::string section, std::string says) {
  return cited_archimedean(std::move(section), std::move(says));
}

std::vector<AnonymousOutcome> simulated(Workshop& workshop, const AnonymousSetup& setup,
                                        std::uint64_t runs) {
  return gathered(workshop, runs, [&](std::uint64_t number) {
    AnonymousSetup one = setup;
    one.seed = workshop.seed() + number;
    return run(one);
  });
}

monte_carlo::AnonymousCounts drawn(Workshop& workshop, const monte_carlo::Anonymous& ring,
                                   std::uint64_t elections) {
  const std::uint64_t blocks =
      std::max<std::uint64_t>(1, elections / std::uint64_t{monte_carlo::kBlock});
  const auto parts = gathered(workshop, blocks, [&](std::uint64_t block) {
    return monte_carlo::run_block(ring, workshop.seed(), static_cast<std::uint32_t>(block),
                                  monte_carlo::kBlock);
  });
  monte_carlo::AnonymousCounts sum;
  for (const monte_carlo::AnonymousCounts& part : parts) sum += part;
  return sum;
}

Estimate all_elected_first(const monte_carlo::AnonymousCounts& counts, std::uint32_t candidates) {
  const std::uint64_t all =
      candidates < counts.first_leaders.size() ? counts.first_leaders[candidates] : 0;
  return proportion(all, counts.elections);
}

Findings two_leaders(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "anonymous-error",
              .title = "Probability that all candidates in step are elected",
              .caption =
                  "By the number of stages, k. Lines: exact, and the paper's (3/4)^k. Dots: "
                  "simulated.",
              .x_name = "stages, k",
              .y_name = "probability",
              .y_log = true};
  Series bound{.name = "(3/4)^k"};
  for (std::uint32_t k = 1; k <= 12; ++k)
    bound.points.push_back({static_cast<double>(k), std::pow(0.75, k)});
  for (const std::uint32_t candidates : {2U, 3U}) {
    Series exact{.name = fmt::format("{} candidates, exact", candidates)};
    Series dots{.name = fmt::format("{} candidates, simulated", candidates), .mark = Mark::dots};
    for (std::uint32_t k = 1; k <= 12; ++k) {
      const analysis::Fraction truth = analysis::all_elected(candidates, k);
      const Estimate part =
          all_elected_first(drawn(workshop, {.stations = 8, .stages = k, .candidates = candidates},
                                  workshop.runs(1U << 18)),
                            candidates);
      exact.points.push_back({static_cast<double>(k), truth.nearest()});
      dots.points.push_back({static_cast<double>(k), part.value, part.low, part.high});
      if (k >= 2 && k <= 5)
        findings.claims.push_back(
            equals(cited("4.3, lemma 6", fmt::format("{} candidates in step are all elected after "
                                                     "{} stages, simulated",
                                                     candidates, k)),
                   truth.nearest(), truth.text(), part));
    }
    dots.colour = static_cast<std::uint32_t>(chart.series.size());
    chart.series.push_back(std::move(exact));
    chart.series.push_back(std::move(dots));
  }
  chart.series.push_back(std::move(bound));
  findings.charts.push_back(std::move(chart));
  for (const std::uint32_t k : {2U, 4U}) {
    const analysis::Fraction truth = analysis::all_elected(2, k);
    std::uint64_t both = 0;
    const auto outcomes =
        simulated(workshop, {.stations = 8, .stages = k, .candidates = 2, .steady_delay = true},
                  workshop.runs(3'000));
    for (const AnonymousOutcome& one : outcomes) both += one.first_phase_leaders == 2 ? 1U : 0U;
    findings.claims.push_back(
        equals(cited("4.3, lemma 6",
                     fmt::format("two candidates in step, {} stages, shipped implementation", k)),
               truth.nearest(), truth.text(), proportion(both, outcomes.size())));
  }
  std::uint64_t beyond = 0;
  for (std::uint32_t k = 2; k <= 200; ++k)
    beyond += analysis::all_elected(2, k) <= analysis::Fraction::power({3, 4}, k) ? 0U : 1U;
  findings.claims.push_back(never(
      cited("4.3, lemma 6", "the probability of two leaders exceeds (3/4)^k, k = 2 … 200, exact"),
      beyond, 199));
  findings.claims.push_back(erratum_of_lemma_6(workshop, findings));
  return findings;
}

Findings phases(Workshop& workshop) {
  constexpr std::uint32_t kStages = 30;
  Findings findings;
  Chart chart{.id = "anonymous-phases",
              .title = "Phases until a station leads",
              .caption = "Exactly one of n stations must draw 1: (1 − 1/n)^−(n−1) phases, below e.",
              .x_name = "stations, n",
              .y_name = "mean number of phases"};
  Series law{.name = "(1 − 1/n)^−(n−1)"};
  Series dots{.name = "simulated, k = 30", .mark = Mark::dots};
  for (const std::uint32_t n : {2U, 3U, 5U, 8U, 16U, 32U}) {
    const monte_carlo::AnonymousCounts counts =
        drawn(workshop, {.stations = n, .stages = kStages}, workshop.runs(1U << 17));
    Moments moments;
    for (std::size_t p = 0; p < counts.phases.size(); ++p)
      moments.add(static_cast<double>(p), counts.phases[p]);
    const Estimate mean = mean_of(moments);
    law.points.push_back({static_cast<double>(n), analysis::mean_phases(n).nearest()});
    dots.points.push_back({static_cast<double>(n), mean.value, mean.low, mean.high});
    if (n == 8 || n == 32)
      findings.claims.push_back(equals(
          cited("4.3, theorem 1", fmt::format("mean number of phases, n = {}, simulated", n)),
          analysis::mean_phases(n).nearest(), mean));
  }
  chart.series = {std::move(law), std::move(dots)};
  findings.charts.push_back(std::move(chart));

  constexpr std::uint32_t kStations = 8;
  constexpr std::uint32_t kFew = 4;
  Moments messages;
  Moments bits;
  Extremes starts;
  std::uint64_t broken = 0;
  const AnonymousSetup setup{.stations = kStations, .stages = kFew, .gamma = 0.5};
  const auto rules = rules_of(setup);
  const auto outcomes = simulated(workshop, setup, workshop.runs(2'000));
  for (const AnonymousOutcome& one : outcomes) {
    messages.add(static_cast<double>(one.messages));
    bits.add(static_cast<double>(one.bits));
    starts.add(static_cast<double>(one.longest_start.count()) * 1e-6);
    broken += one.broken.empty() ? 0U : 1U;
  }
  findings.claims.push_back(
      at_most(cited("4.3, theorem 1", "the number of messages is below e n (k + 3), n = 8, k = 4"),
              std::numbers::e * kStations * (kFew + 3), mean_of(messages)));
  findings.claims.push_back(at_most(
      cited("4.3, theorem 1", "the number of bits is below 4 c e n k with c = 2, n = 8, k = 4"),
      4 * 2 * std::numbers::e * kStations * kFew, mean_of(bits)));
  findings.claims.push_back(never_above(
      cited("4.3, lemma 4", "every station begins a phase within n (dmax + rmax) of its beginning"),
      static_cast<double>((kStations * (rules.delay_max + rules.step_max)).count()) * 1e-6, starts,
      " ms"));
  findings.claims.push_back(never(
      cited("4.3, lemma 5",
            "a phase in which exactly one station drew 1 does not end with it elected and all "
            "others defeated"),
      broken, outcomes.size()));
  return findings;
}

Findings time_bound(Workshop& workshop) {
  constexpr std::uint32_t kStations = 6;
  constexpr std::uint32_t kStages = 4;
  Findings findings;
  Chart chart{.id = "anonymous-time",
              .title = "Longest duration of a phase",
              .caption =
                  "Six stations, four stages. The paper ignores that a slow station counts its "
                  "steps 1/γ times as long as a fast one.",
              .x_name = "γ = rmin/rmax",
              .y_name = "milliseconds"};
  Series printed{.name = "4 n dmax k, as printed"};
  Series corrected{.name = "corrected bound"};
  Series seen{.name = "longest phase in simulation", .mark = Mark::dots};
  Extremes by_bound;
  double longest_by_a_tenth = 0;
  double printed_bound = 0;
  for (const double gamma : {0.1, 0.2, 0.35, 0.5, 0.75, 1.0}) {
    const AnonymousSetup setup{.stations = kStations, .stages = kStages, .gamma = gamma};
    const auto rules = rules_of(setup);
    const double bound = static_cast<double>(sim::ring::phase_bound(rules).count()) * 1e-6;
    printed_bound = static_cast<double>((4 * kStations * kStages * rules.delay_max).count()) * 1e-6;
    Extremes longest;
    for (const AnonymousOutcome& one : simulated(workshop, setup, workshop.runs(400)))
      longest.add(static_cast<double>(one.longest_phase.count()) * 1e-6);
    by_bound.add(longest.most / bound);
    printed.points.push_back({gamma, printed_bound});
    corrected.points.push_back({gamma, bound});
    seen.points.push_back({gamma, longest.most});
    if (gamma == 0.1) longest_by_a_tenth = longest.most;
  }
  chart.series = {std::move(printed), std::move(corrected), std::move(seen)};
  findings.charts.push_back(std::move(chart));
  findings.claims.push_back(
      never_above(cited("4.3, theorem 1",
                        "a phase lasts at most max(k + 2, rmax/rmin + 1) L rmax + "
                        "2 n (dmax + rmax): longest phase, relative to this bound"),
                  1, by_bound));
  findings.claims.push_back(
      erratum_of_theorem_1(workshop, printed_bound, longest_by_a_tenth, findings));
  return findings;
}

// Two candidates opposite each other on a ring of four; one has the shortest steps.
Findings faster(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "anonymous-faster",
              .title = "Advantage of the faster candidate",
              .caption =
                  "Result of the first phase, two stages, two candidates opposite each other on a "
                  "ring of four; one is faster by 1/γ.",
              .x_name = "γ = rmin/rmax",
              .y_name = "fraction of runs"};
  Series fast{.name = "only the fast one elected", .mark = Mark::dots};
  Series both{.name = "both", .mark = Mark::dots};
  Series none{.name = "another phase", .mark = Mark::dots};
  std::uint64_t slow_alone = 0;
  std::uint64_t fast_alone = 0;
  std::uint64_t runs = 0;
  std::uint64_t runs_at_best = 0;
  for (const double gamma : {1.0, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.5}) {
    std::array<std::uint64_t, 3> counts{};
    const auto outcomes = simulated(workshop,
                                    {.stations = 4,
                                     .stages = 2,
                                     .gamma = gamma,
                                     .candidates = 2,
                                     .first_is_fast = true,
                                     .steady_delay = gamma == 1.0},
                                    workshop.runs(1'500));
    for (const AnonymousOutcome& one : outcomes) {
      const bool alone = one.first_phase_leaders == 1;
      const bool is_fast = alone && one.elected == std::vector<NodeId>{NodeId{0}};
      counts.at(alone ? 0 : one.first_phase_leaders == 2 ? 1 : 2) += 1;
      slow_alone += alone && !is_fast ? 1U : 0U;
    }
    runs += outcomes.size();
    if (gamma == 0.9) {
      fast_alone = counts[0];
      runs_at_best = outcomes.size();
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Estimate part = proportion(counts.at(i), outcomes.size());
      std::array<Series*, 3> rows{&fast, &both, &none};
      rows.at(i)->points.push_back({gamma, part.value, part.low, part.high});
    }
  }
  chart.series = {std::move(fast), std::move(both), std::move(none)};
  findings.charts.push_back(std::move(chart));
  findings.claims.push_back(happens(
      cited("4.3, note",
            "the faster candidate has an advantage: it alone is elected in the first phase, "
            "γ = 0.9"),
      fast_alone, runs_at_best));
  findings.claims.push_back(
      never(cited("4.3, note", "only the slower candidate is elected in the first phase, any γ"),
            slow_alone, runs));
  return findings;
}

}  // namespace

const std::vector<Experiment>& archimedean_ring_experiments() {
  static const std::vector<Experiment> all{
      {"anonymous-error", Paper::archimedean, "The anonymous ring: two leaders",
       "Stations without names can never be certain; the probability of an error.", 0.6,
       two_leaders},
      {"anonymous-phases", Paper::archimedean, "The anonymous ring: phases, messages, bits",
       "The statements of theorem 1 and lemmas 4 and 5.", 0.2, phases},
      {"anonymous-time", Paper::archimedean, "The anonymous ring: time",
       "The longest phase, compared with the paper's bound and a corrected one.", 0.1, time_bound},
      {"anonymous-faster", Paper::archimedean, "The anonymous ring: the faster candidate",
       "A remark that the paper leaves open.", 0.3, faster},
      {"anonymous-errata", Paper::archimedean, "The anonymous ring as printed",
       "The rules for leaving a phase, and for the last wait of a candidate.", 0.1,
       archimedean_ring_errata}};
  return all;
}

}  // namespace tempo::papers
