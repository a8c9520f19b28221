#include "lab/papers/capacity_paper.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "lab/analysis/algorithm_c.h"
#include "lab/analysis/chain_samples.h"
#include "lab/analysis/lanes.h"
#include "lab/studies/group/apps/run.h"
#include "lab/studies/group/capacity_run.h"

namespace tempo::papers {
namespace {

using analysis::AlgorithmC;
using analysis::Fraction;
using election::capacity::Variant;
using report::Chart;
using report::Mark;
using report::Series;
using sim::capacity::Algorithm;
using sim::capacity::Outcome;
using sim::capacity::Setup;

constexpr Nanos kT = 10ms;  // longest duration of a broadcast

Statement cited(std::string section, std::string says) {
  return cited_capacity(std::move(section), std::move(says));
}

std::vector<Outcome> elections(Workshop& workshop, const Setup& setup, std::uint64_t runs) {
  return gathered(workshop, runs, [&](std::uint64_t number) {
    Setup one = setup;
    one.seed = workshop.seed() + number;
    return run(one);
  });
}

template <class Test>
std::uint64_t count_of(const std::vector<Outcome>& outcomes, Test test) {
  return static_cast<std::uint64_t>(std::ranges::count_if(outcomes, test));
}
std::uint64_t disagreeing(const std::vector<Outcome>& outcomes) {
  return count_of(outcomes, [](const Outcome& it) { return it.disagree; });
}
std::uint64_t asking_for_help(const std::vector<Outcome>& outcomes) {
  return count_of(outcomes, [](const Outcome& it) { return it.help > 0; });
}

report::ChartPoint point(double x, const Estimate& y) { return {x, y.value, y.low, y.high}; }

// Figure 1: the expected number of rounds of Algorithm C.
Findings figure_1(Workshop& workshop) {
  constexpr std::uint32_t kMaxCandidates = 20;
  Findings findings;
  Chart chart{.id = "capacity-rounds",
              .title = "Rounds of Algorithm C (the paper's figure 1)",
              .caption =
                  "Lines: exact. Dots: the chain, simulated. Each message is lost with "
                  "probability p.",
              .x_name = "candidates, a",
              .y_name = "mean number of rounds"};
  for (const std::int64_t tenths : {1, 2, 3, 4, 5}) {
    const AlgorithmC chain(kMaxCandidates, Fraction{tenths, 10});
    Series line{.name = fmt::format("p = 0.{}", tenths)};
    for (std::uint32_t a = 1; a <= kMaxCandidates; ++a)
      line.points.push_back({static_cast<double>(a), chain.mean_rounds(a).nearest()});
    chart.series.push_back(std::move(line));
  }
  for (const std::int64_t tenths : {1, 3, 5}) {
    const AlgorithmC chain(kMaxCandidates, Fraction{tenths, 10});
    Series dots{.name = fmt::format("p = 0.{}, simulated", tenths),
                .mark = Mark::dots,
                .colour = static_cast<std::uint32_t>(tenths - 1)};
    for (const std::uint32_t a : {2U, 5U, 10U, 20U}) {
      const std::uint64_t blocks =
          std::max<std::uint64_t>(1, workshop.runs(1U << 17) / std::uint64_t{monte_carlo::kBlock});
      const auto parts = gathered(workshop, blocks, [&](std::uint64_t block) {
        return monte_carlo::run_block(
            monte_carlo::Candidates{.candidates = a, .loss = static_cast<double>(tenths) / 10},
            workshop.seed(), static_cast<std::uint32_t>(block), monte_carlo::kBlock);
      });
      Moments moments;
      for (const monte_carlo::RoundCounts& part : parts)
        for (std::size_t k = 0; k < part.rounds.size(); ++k)
          moments.add(static_cast<double>(k), part.rounds[k]);
      dots.points.push_back(point(a, mean_of(moments)));
      if (a >= 10)
        findings.claims.push_back(equals(
            cited("6, appendix", fmt::format("E[N] for p = 0.{}, a = {}, simulated", tenths, a)),
            chain.mean_rounds(a).nearest(), mean_of(moments)));
    }
    chart.series.push_back(std::move(dots));
  }
  findings.charts.push_back(std::move(chart));
  const AlgorithmC chain(kMaxCandidates, Fraction{3, 10});
  findings.claims.push_back(same(cited("6, figure 1", "E[N] for p = 0.3, a = 20"), "2.557",
                                 fmt::format("{:.3f}", chain.mean_rounds(20).nearest())));
  Extremes rounds;
  for (std::uint32_t a = 1; a <= kMaxCandidates; ++a) rounds.add(chain.mean_rounds(a).nearest());
  findings.claims.push_back(never_above(
      cited("6", "with loss below 0.3 the expected number of rounds is at most 3, a = 1 … 20"), 3,
      rounds));
  return findings;
}

// The properties of each algorithm under its conditions.
struct PropertyCase {
  const char* section;
  const char* name;
  Setup setup;
  double bound;  // in T
  std::uint64_t runs;
};

Findings times(Workshop& workshop) {
  Findings findings;
  const std::array<PropertyCase, 7> all{{
      {"4", "A, 5 processes", {.algorithm = Algorithm::a}, 1, 4'000},
      {"4",
       "A, 20 processes",
       {.algorithm = Algorithm::a, .nodes = 20, .candidates = 20},
       1,
       1'000},
      {"5.1",
       "B.1, 5 processes, one crashes",
       {.algorithm = Algorithm::b1, .crashes = 1, .start_skew = kT},
       3,
       6'000},
      {"5.1",
       "B.1, 7 processes, three crash",
       {.algorithm = Algorithm::b1, .nodes = 7, .candidates = 7, .crashes = 3, .start_skew = kT},
       3,
       4'000},
      {"5.2",
       "B.2, 4 processes, one malicious",
       {.algorithm = Algorithm::b2, .nodes = 4, .candidates = 4, .malicious = 1, .start_skew = kT},
       5,
       6'000},
      {"5.2",
       "B.2, 7 processes, two malicious",
       {.algorithm = Algorithm::b2, .nodes = 7, .candidates = 7, .malicious = 2, .start_skew = kT},
       5,
       2'000},
      {"5.3",
       "B.2 unordered, 4 processes, one malicious",
       {.algorithm = Algorithm::b2_unordered,
        .nodes = 4,
        .candidates = 4,
        .malicious = 1,
        .start_skew = kT},
       5 + 6 * 2,
       1'000},
  }};
  for (const PropertyCase& one : all) {
    const auto outcomes = elections(workshop, one.setup, workshop.runs(one.runs));
    Extremes longest;
    for (const Outcome& outcome : outcomes)
      longest.add(static_cast<double>(outcome.time.count()) /
                  static_cast<double>(one.setup.bound.count()));
    findings.claims.push_back(never(
        cited(one.section, fmt::format("{}: two processes elect different masters", one.name)),
        disagreeing(outcomes), outcomes.size()));
    findings.claims.push_back(never_above(
        cited(one.section,
              fmt::format("{}: time from the first start to the last decision", one.name)),
        one.bound, longest, " T"));
  }
  Extremes surplus;
  for (const std::uint32_t n : {3U, 5U, 12U})
    for (const Outcome& outcome :
         elections(workshop, {.algorithm = Algorithm::a, .nodes = n, .candidates = n},
                   workshop.runs(200)))
      surplus.add(static_cast<double>(outcome.broadcasts) - n);
  findings.claims.push_back(
      always(cited("4", "A: broadcasts in excess of n, n = 3, 5, 12"), 0, surplus));
  return findings;
}

Findings conditions(Workshop& workshop) {
  Findings findings;
  struct Violated {
    const char* name;
    Setup setup;
  };
  const std::array<Violated, 4> all{{
      {"starts differ by up to T/10", {.algorithm = Algorithm::a, .start_skew = 1ms}},
      {"clocks differ by up to T/10", {.algorithm = Algorithm::a, .clock_error = 1ms}},
      {"one process pauses for up to 2T", {.algorithm = Algorithm::a, .pauses = 1}},
      {"no self-delivery", {.algorithm = Algorithm::a, .self_delivery = false}},
  }};
  Chart chart{.id = "capacity-conditions",
              .title = "Algorithm A with one violated condition",
              .caption =
                  "Fraction of elections in which two processes elect different masters, by the "
                  "difference of starts or clocks.",
              .x_name = "difference, in T",
              .y_name = "fraction of elections"};
  for (const Violated& one : all) {
    const auto outcomes = elections(workshop, one.setup, workshop.runs(3'000));
    findings.claims.push_back(
        happens(cited("4", fmt::format("a violation of any condition breaks A: {}", one.name)),
                disagreeing(outcomes), outcomes.size()));
  }
  Series starts{.name = "starts", .mark = Mark::dots};
  Series clocks{.name = "clocks", .mark = Mark::dots};
  for (const int percent : {2, 5, 10, 20, 40, 80}) {
    const Nanos apart = 100us * percent;
    const std::uint64_t runs = workshop.runs(1'500);
    const auto skewed = elections(workshop, {.algorithm = Algorithm::a, .start_skew = apart}, runs);
    const auto off = elections(workshop, {.algorithm = Algorithm::a, .clock_error = apart}, runs);
    starts.points.push_back(point(percent / 100.0, proportion(disagreeing(skewed), skewed.size())));
    clocks.points.push_back(point(percent / 100.0, proportion(disagreeing(off), off.size())));
  }
  chart.series = {std::move(starts), std::move(clocks)};
  findings.charts.push_back(std::move(chart));
  return findings;
}

Findings help(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "capacity-help",
              .title = "Algorithm C: requests for help",
              .caption =
                  "Fraction of elections among five processes in which a process is left without "
                  "a master, by the message loss probability.",
              .x_name = "message loss probability, p",
              .y_name = "fraction of elections"};
  for (const Variant variant : {Variant::as_printed, Variant::corrected}) {
    const bool printed = variant == Variant::as_printed;
    Series dots{.name = printed ? "as printed" : "corrected", .mark = Mark::dots};
    for (const double loss : {0.0, 0.02, 0.05, 0.1, 0.2, 0.3}) {
      const auto outcomes = elections(
          workshop, {.algorithm = Algorithm::c, .variant = variant, .loss = loss, .start_skew = kT},
          workshop.runs(2'000));
      dots.points.push_back(point(loss, proportion(asking_for_help(outcomes), outcomes.size())));
      if (loss == 0 && !printed) {
        findings.claims.push_back(
            never(cited("6", "C, corrected, without loss: a process asks for help"),
                  asking_for_help(outcomes), outcomes.size()));
        findings.claims.push_back(
            never(cited("6", "C, corrected, without loss: two processes elect different masters"),
                  disagreeing(outcomes), outcomes.size()));
      }
    }
    chart.series.push_back(std::move(dots));
  }
  findings.charts.push_back(std::move(chart));

  Chart two_masters{.id = "capacity-two-masters",
                    .title = "Algorithm C: two masters",
                    .caption = "Two processes that start together; the line is p³(2 − p).",
                    .x_name = "message loss probability, p",
                    .y_name = "fraction of elections"};
  Series formula{.name = "p³(2 − p)"};
  Series dots{.name = "simulated", .mark = Mark::dots};
  for (const double loss : {0.1, 0.2, 0.3, 0.4, 0.5}) {
    const double predicted = loss * loss * loss * (2 - loss);
    const auto outcomes =
        elections(workshop, {.algorithm = Algorithm::c, .nodes = 2, .candidates = 2, .loss = loss},
                  workshop.runs(6'000));
    const Estimate part = proportion(
        count_of(outcomes, [](const Outcome& it) { return it.masters > 1; }), outcomes.size());
    formula.points.push_back({loss, predicted});
    dots.points.push_back(point(loss, part));
    if (loss >= 0.3)
      findings.claims.push_back(equals(
          cited("6, ours", fmt::format("two masters among two processes that begin together: "
                                       "p³(2−p) for p = {:g}",
                                       loss)),
          predicted, part));
  }
  two_masters.series = {std::move(formula), std::move(dots)};
  findings.charts.push_back(std::move(two_masters));
  return findings;
}

Findings applications(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "capacity-applications",
              .title = "Six applications",
              .caption =
                  "Fraction of runs that violate the property of each application; five processes, "
                  "one of which crashes: 1 group server, 2 load balancing, 3 replicated data, 4 "
                  "crash recovery, 5 joining a group, 6 mutual exclusion.",
              .x_name = "application",
              .y_name = "fraction of runs"};
  Series naive{.name = "naive", .mark = Mark::bars};
  Series corrected{.name = "corrected", .mark = Mark::bars};
  double number = 0;
  for (const sim::apps::ApplicationInfo& info : sim::apps::all_applications()) {
    ++number;
    for (const bool simple : {true, false}) {
      const auto outcomes =
          gathered(workshop, workshop.runs(simple ? 300 : 500), [&](std::uint64_t run_number) {
            return run(sim::apps::Setup{.application = info.application,
                                        .naive = simple,
                                        .seed = workshop.seed() + run_number});
          });
      const auto broken = static_cast<std::uint64_t>(
          std::ranges::count_if(outcomes, [](const auto& it) { return !it.broken.empty(); }));
      (simple ? naive : corrected)
          .points.push_back({number, proportion(broken, outcomes.size()).value});
      if (simple)
        findings.claims.push_back(
            happens(cited("7", fmt::format("{}, naive version: {}", info.name, info.naive)), broken,
                    outcomes.size()));
      else
        findings.claims.push_back(
            never(cited("7", fmt::format("{}, violations of: {}", info.name, info.about)), broken,
                  outcomes.size()));
    }
  }
  chart.series = {std::move(naive), std::move(corrected)};
  findings.charts.push_back(std::move(chart));
  return findings;
}

}  // namespace

const std::vector<Experiment>& capacity_experiments() {
  static const std::vector<Experiment> all{
      {"capacity-rounds", Paper::capacity, "Figure 1: rounds of Algorithm C",
       "The Markov chain of the appendix, exact and simulated.", 0.5, figure_1},
      {"capacity-times", Paper::capacity, "Times and uniqueness",
       "Each algorithm under its conditions, with the faults that it tolerates. T is the bound "
       "on the delivery of a broadcast.",
       0.7, times},
      {"capacity-conditions", Paper::capacity, "The conditions of Algorithm A",
       "Each violated once; according to the paper, counterexamples are easy to find.", 0.5,
       conditions},
      {"capacity-help", Paper::capacity, "Algorithm C under loss",
       "Processes that end by asking for help, and elections that end with two masters.", 0.8,
       help},
      {"capacity-applications", Paper::capacity, "Six applications",
       "The criterion of an election determines its application. Each application is compared "
       "with a naive version.",
       2.5, applications},
      {"capacity-checked", Paper::capacity, "All states of small models",
       "Results of the checker: A with one violated condition, the others corrected.", 0.3,
       capacity_checked},
      {"capacity-errata", Paper::capacity, "Errata",
       "Counterexamples found by the checker, and their frequency in simulation.", 0.3,
       capacity_errata}};
  return all;
}

}  // namespace tempo::papers
