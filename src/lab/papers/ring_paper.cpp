#include "lab/papers/ring_paper.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "lab/analysis/equitable.h"
#include "lab/analysis/lanes.h"
#include "lab/analysis/ring_time.h"
#include "lab/papers/check_trace.h"
#include "lab/studies/group/ring/equitable.h"

namespace tempo::papers {
namespace {

using analysis::Number;
using analysis::RingTime;
using election::ring::Method;
using report::Chart;
using report::Mark;
using report::Series;
using sim::ring::EquitableOutcome;
using sim::ring::EquitableSetup;

struct Ring {
  std::uint32_t stations;
  std::uint32_t range;
};

Statement cited(std::string section, std::string says) {
  return {Paper::ring, std::move(section), std::move(says)};
}

std::string name_of(const Ring& ring) {
  return fmt::format("n = {}, m = {}", ring.stations, ring.range);
}

monte_carlo::EquitableCounts drawn(Workshop& workshop, const Ring& ring, std::uint64_t elections,
                                   bool winners = false) {
  const std::uint64_t blocks =
      std::max<std::uint64_t>(1, elections / std::uint64_t{monte_carlo::kBlock});
  const auto parts = gathered(workshop, blocks, [&](std::uint64_t block) {
    return monte_carlo::run_block(
        {.stations = ring.stations, .range = ring.range, .winners = winners}, workshop.seed(),
        static_cast<std::uint32_t>(block), monte_carlo::kBlock);
  });
  monte_carlo::EquitableCounts sum;
  for (const monte_carlo::EquitableCounts& part : parts) sum += part;
  return sum;
}

std::vector<EquitableOutcome> simulated(Workshop& workshop, const EquitableSetup& setup,
                                        std::uint64_t runs) {
  return gathered(workshop, runs, [&](std::uint64_t number) {
    EquitableSetup one = setup;
    one.seed = workshop.seed() + number;
    return run(one);
  });
}

std::uint64_t broken_in(const std::vector<EquitableOutcome>& outcomes) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(outcomes, [](const auto& it) { return !it.broken.empty(); }));
}

// More rounds than almost any election takes.
constexpr std::uint32_t kRounds = 60;

std::vector<double> exact_distribution(const RingTime& ring) {
  std::vector<double> exact{0};
  double sum = 0;
  for (const Number& p : ring.distribution(1, kRounds - 1)) {
    exact.push_back(p.nearest);
    sum += p.nearest;
  }
  exact.push_back(1 - sum);
  return exact;
}

Series exact_series(std::string name, const std::vector<double>& exact) {
  Series series{.name = std::move(name), .mark = Mark::line};
  for (std::uint32_t k = 1; k < kRounds; ++k)
    if (exact[k] > 1e-5) series.points.push_back({.x = static_cast<double>(k), .y = exact[k]});
  return series;
}

Findings distribution(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "ring-time",
              .title = "Number of rounds of an election",
              .caption = "Lines: exact. Dots: simulated elections with their intervals.",
              .x_name = "rounds",
              .y_name = "probability"};
  for (const Ring ring : {Ring{3, 2}, Ring{8, 16}, Ring{16, 4}, Ring{64, 16}}) {
    const RingTime time(ring.stations, ring.range);
    const std::vector<double> exact = exact_distribution(time);
    const monte_carlo::EquitableCounts counts = drawn(workshop, ring, workshop.runs(1U << 20));
    if (workshop.stopped()) return {};
    std::vector<std::uint64_t> seen(kRounds + 1);
    for (std::size_t k = 0; k < counts.rounds.size(); ++k)
      seen[std::min<std::size_t>(k, kRounds)] += counts.rounds[k];
    std::vector<double> expected;
    for (const double p : exact) expected.push_back(p * static_cast<double>(counts.elections));
    Series dots{.name = name_of(ring) + ", simulated", .mark = Mark::dots};
    for (std::uint32_t k = 1; k < kRounds; ++k) {
      if (seen[k] * 2000 < counts.elections) continue;
      const Estimate part = proportion(seen[k], counts.elections);
      dots.points.push_back(
          {.x = static_cast<double>(k), .y = part.value, .low = part.low, .high = part.high});
    }
    dots.colour = static_cast<std::uint32_t>(chart.series.size());
    chart.series.push_back(exact_series(name_of(ring) + ", exact", exact));
    chart.series.push_back(std::move(dots));
    findings.claims.push_back(
        distributed(cited("4, theorem 3",
                          fmt::format("T has the distribution of theorem 3, {}", name_of(ring))),
                    distance(seen, expected), counts.elections));
    Moments moments;
    for (std::size_t k = 0; k < counts.rounds.size(); ++k)
      moments.add(static_cast<double>(k), counts.rounds[k]);
    findings.claims.push_back(
        equals(cited("5, theorem 4", fmt::format("mean of T, {}", name_of(ring))),
               time.moments(1)[1].nearest, mean_of(moments)));
    if (ring.stations != 3) continue;
    findings.claims.push_back(same(
        cited("4, theorem 3",
              "P{T = 2} of three stations, m = 2: all six assignments except two, then one of two"),
        "3/8", time.by_sum(2).text()));
    findings.claims.push_back(equals(cited("4, theorem 3", "the same, simulated"), 0.375, "3/8",
                                     proportion(seen[2], counts.elections)));
  }
  findings.charts.push_back(std::move(chart));
  return findings;
}

// The explicit sum compared with the recurrence, and the bound of lemma 2, where both are
// computable.
Findings formulas(Workshop& workshop) {
  std::uint64_t compared = 0;
  std::uint64_t unequal = 0;
  std::uint64_t bounded = 0;
  std::uint64_t beyond = 0;
  for (std::uint32_t n = 2; n <= 7; ++n)
    for (const std::uint64_t m : {2U, 3U, 5U, 16U}) {
      if (workshop.stopped()) return {};
      const RingTime ring(n, m);
      const std::vector<Number> by_recurrence = ring.distribution(1, 9);
      for (std::uint32_t k = 1; k <= 9; ++k) {
        ++compared;
        unequal += ring.by_sum(k) == *by_recurrence[k - 1].exact ? 0U : 1U;
        if (k < n) continue;
        ++bounded;
        beyond += *by_recurrence[k - 1].exact <= ring.bound(k) ? 0U : 1U;
      }
    }
  Findings findings;
  findings.claims.push_back(
      never(cited("4, theorem 3", "the explicit sum differs from the recurrence, n = 2 … 7"),
            unequal, compared));
  findings.claims.push_back(
      never(cited("5, lemma 2", "P{T = k} exceeds m^(n−k−1) k^(n−2), k ≥ n"), beyond, bounded));
  return findings;
}

Findings growth(Workshop& workshop) {
  constexpr std::array<std::uint32_t, 8> kStations{2, 4, 8, 16, 32, 64, 128, 256};
  constexpr std::array<std::uint64_t, 3> kRanges{2, 4, 16};
  const std::size_t most = workshop.effort() == Effort::full    ? kStations.size()
                           : workshop.effort() == Effort::quick ? kStations.size() - 1
                                                                : 5;
  const auto means = gathered(workshop, most * kRanges.size(), [&](std::uint64_t number) {
    return RingTime(kStations[number % most], kRanges[number / most]).moments(1)[1].nearest;
  });
  Findings findings;
  Chart chart{.id = "ring-growth",
              .title = "Rounds by the size of the ring",
              .caption =
                  "The exact mean, and ln n / ln(2m/(m+1)): the formula describes the growth, and "
                  "the lines are parallel.",
              .x_name = "stations",
              .y_name = "mean number of rounds",
              .x_log = true};
  for (std::size_t r = 0; r < kRanges.size(); ++r) {
    const auto m = static_cast<double>(kRanges[r]);
    const double per_e = 1 / std::log(2 * m / (m + 1));
    Series exact{.name = fmt::format("m = {}, exact", kRanges[r]), .mark = Mark::dots};
    Series law{.name = fmt::format("m = {}, formula", kRanges[r]), .mark = Mark::line};
    for (std::size_t i = 0; i < most; ++i) {
      const double n = kStations[i];
      exact.points.push_back({.x = n, .y = means[r * most + i]});
      law.points.push_back({.x = n, .y = std::log(n) * per_e});
    }
    const double doubling = means[r * most + most - 1] - means[r * most + most - 2];
    const double error = std::abs(doubling / (std::log(2) * per_e) - 1);
    exact.colour = law.colour = static_cast<std::uint32_t>(chart.series.size());
    chart.series.push_back(std::move(exact));
    chart.series.push_back(std::move(law));
    findings.claims.push_back(at_most(
        cited("6", fmt::format("doubling the number of stations adds ln 2 / ln(2m/(m+1)) rounds, "
                               "m = {}: relative error of the formula",
                               kRanges[r])),
        0.01, {.value = error, .low = error, .high = error, .runs = 1}));
  }
  findings.charts.push_back(std::move(chart));
  return findings;
}

Findings machines(Workshop& workshop) {
  Findings findings;
  std::uint64_t runs = 0;
  std::uint64_t broken = 0;
  Extremes buffers;
  for (const Ring ring : {Ring{2, 2}, Ring{5, 2}, Ring{8, 16}, Ring{16, 4}}) {
    const auto outcomes =
        simulated(workshop, {.stations = ring.stations, .range = ring.range}, workshop.runs(4'000));
    Moments rounds;
    Extremes surplus;
    for (const EquitableOutcome& one : outcomes) {
      rounds.add(one.rounds);
      surplus.add(static_cast<double>(one.hops) - ring.stations * (one.rounds + 1.0));
      buffers.add(static_cast<double>(one.buffer_max) / ring.stations);
    }
    runs += outcomes.size();
    broken += broken_in(outcomes);
    findings.claims.push_back(
        equals(cited("4", fmt::format("mean of T, shipped implementation, {}", name_of(ring))),
               RingTime(ring.stations, ring.range).moments(1)[1].nearest, mean_of(rounds)));
    findings.claims.push_back(always(
        cited("2", fmt::format("messages in excess of n (T + 1), {}", name_of(ring))), 0, surplus));
  }
  findings.claims.push_back(never(
      cited("2, theorem 1", "an election does not end with exactly one leader"), broken, runs));
  findings.claims.push_back(never_above(
      cited("2", "a buffer of n messages suffices: largest use, relative to n"), 1, buffers));
  sim::Trace trace(true);
  run(EquitableSetup{.stations = 5, .range = 4, .seed = workshop.seed() + 3}, &trace);
  findings.diagrams.push_back(
      diagram_of(trace, "ring-election", "An election of five stations, priorities 1 to 4",
                 "Each active station sends its priority to the next active one; the station that "
                 "receives its own priority leads and announces it.",
                 {.nodes = 5}));
  return findings;
}

Findings equity(Workshop& workshop) {
  Findings findings;
  const Ring large{64, 16};
  const monte_carlo::EquitableCounts counts = drawn(workshop, large, workshop.runs(1U << 20), true);
  if (workshop.stopped()) return {};
  std::vector<double> even(64, static_cast<double>(counts.elections) / 64);
  findings.claims.push_back(
      distributed(cited("1", "all 64 stations win with equal frequency, simulated"),
                  distance(counts.wins, even), counts.elections));
  Chart chart{.id = "ring-equity",
              .title = "Frequency of winning",
              .caption = "64 stations; the line is 1/64.",
              .x_name = "station",
              .y_name = "fraction of elections"};
  Series wins{.name = "wins", .mark = Mark::dots};
  Series fair{.name = "1/64", .mark = Mark::line, .points = {{1, 1 / 64.0}, {64, 1 / 64.0}}};
  for (std::size_t i = 0; i < counts.wins.size(); ++i) {
    const Estimate part = proportion(counts.wins[i], counts.elections);
    wins.points.push_back({static_cast<double>(i + 1), part.value, part.low, part.high});
  }
  chart.series = {std::move(wins), std::move(fair)};
  findings.charts.push_back(std::move(chart));

  const auto outcomes = simulated(workshop, {.stations = 8}, workshop.runs(8'000));
  std::vector<std::uint64_t> seen(8);
  for (const EquitableOutcome& one : outcomes)
    if (one.leader != kNobody) ++seen[index(one.leader)];
  even.assign(8, static_cast<double>(outcomes.size()) / 8);
  findings.claims.push_back(distributed(cited("1", "the same, shipped implementation, 8 stations"),
                                        distance(seen, even), outcomes.size()));
  return findings;
}

Findings faulty(Workshop& workshop) {
  Findings findings;
  Chart chart{
      .id = "ring-faulty",
      .title = "Repeated election of a faulty leader",
      .caption = "Eight stations. If a faulty station is elected, another election is held.",
      .x_name = "faulty stations of 8",
      .y_name = "fraction of these elections"};
  Series law{.name = "f/8", .mark = Mark::line, .points = {{1, 1 / 8.0}, {4, 0.5}}};
  for (const Method method : {Method::equitable, Method::highest_id}) {
    Series dots{.name = std::string(name_of(method)), .mark = Mark::dots};
    for (const std::uint32_t bad : {1U, 2U, 4U}) {
      const auto outcomes = simulated(workshop, {.stations = 8, .method = method, .faulty = bad},
                                      workshop.runs(6'000));
      std::uint64_t first = 0;
      std::uint64_t again = 0;
      for (const EquitableOutcome& one : outcomes) {
        first += one.faulty_first ? 1U : 0U;
        again += one.faulty_again ? 1U : 0U;
      }
      const Estimate part = proportion(again, first);
      dots.points.push_back({static_cast<double>(bad), part.value, part.low, part.high});
      const bool fair = method == Method::equitable;
      findings.claims.push_back(
          equals(cited("1", fmt::format("{} faulty of 8: a faulty leader is followed by another "
                                        "faulty one, {}",
                                        bad, fair ? "equitable" : "highest id wins")),
                 fair ? bad / 8.0 : 1, part));
    }
    chart.series.push_back(std::move(dots));
  }
  chart.series.push_back(std::move(law));
  findings.charts.push_back(std::move(chart));
  return findings;
}

Findings ties(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "ring-ties",
              .title = "Ties resolved by id",
              .caption =
                  "16 stations with ids that rise along the ring. The saved rounds are the price "
                  "of equal chances.",
              .x_name = "priorities, m",
              .y_name = "mean number of rounds",
              .x_log = true};
  Series exact{.name = "equitable, exact", .mark = Mark::line};
  Series by_id{.name = "ties by id, simulated", .mark = Mark::dots};
  for (const std::uint32_t m : {2U, 4U, 8U, 16U, 64U}) {
    const double mean = RingTime(16, m).moments(1)[1].nearest;
    const auto outcomes = simulated(
        workshop, {.stations = 16, .range = m, .method = Method::ties_by_id}, workshop.runs(2'000));
    Moments rounds;
    for (const EquitableOutcome& one : outcomes) rounds.add(one.rounds);
    const Estimate measured = mean_of(rounds);
    exact.points.push_back({static_cast<double>(m), mean});
    by_id.points.push_back({static_cast<double>(m), measured.value, measured.low, measured.high});
    if (m <= 16)
      findings.claims.push_back(
          at_most(cited("6", fmt::format("resolving ties by id shortens the election, m = {}", m)),
                  mean, measured));
  }
  chart.series = {std::move(exact), std::move(by_id)};
  findings.charts.push_back(std::move(chart));
  return findings;
}

}  // namespace

const std::vector<Experiment>& ring_experiments() {
  static const std::vector<Experiment> all{
      {"ring-time", Paper::ring, "Election time",
       "The distribution of the number of rounds, exact and simulated.", 0.3, distribution},
      {"ring-formulas", Paper::ring, "Consistency of the formulas",
       "The explicit sum of theorem 3, the recurrence, and the bound of lemma 2, in exact "
       "fractions.",
       0.3, formulas},
      {"ring-growth", Paper::ring, "Growth", "The exact mean for rings of increasing size.", 0.4,
       growth},
      {"ring-machines", Paper::ring, "The shipped implementation",
       "Simulated hop by hop, with delays of 0.1 to 2 ms.", 0.4, machines},
      {"ring-equity", Paper::ring, "Equal chances", "Frequency of winning of each station.", 0.5,
       equity},
      {"ring-faulty", Paper::ring, "Faulty leaders",
       "The reason for equal chances: a rule by id elects the failed station again.", 0.7, faulty},
      {"ring-ties", Paper::ring, "Ties by id",
       "The rounds that deterministic resolution of ties, mentioned in the conclusion, would save.",
       0.4, ties},
      {"ring-errata", Paper::ring, "Errata",
       "Small cases computed by hand, compared with the printed formulas.", 0.1, ring_errata}};
  return all;
}

}  // namespace tempo::papers
