#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "lab/papers/archimedean_paper.h"
#include "lab/studies/lock/mutex_run.h"

namespace tempo::papers {
namespace {

using report::Chart;
using report::Mark;
using report::Series;
using sim::lock::Kind;
using sim::lock::Outcome;
using sim::lock::Setup;

constexpr std::uint64_t kEntriesOfRun = 2'000;

Statement cited(std::string section, std::string says) {
  return cited_archimedean(std::move(section), std::move(says));
}

// Runs consecutive seeds of `entries` entries each.
std::vector<Outcome> locked(Workshop& workshop, const Setup& setup, std::uint64_t entries) {
  const std::uint64_t runs = std::max<std::uint64_t>(4, workshop.runs(entries) / kEntriesOfRun);
  const std::uint64_t of_run = std::min(kEntriesOfRun, workshop.runs(entries));
  return gathered(workshop, runs, [&](std::uint64_t number) {
    Setup one = setup;
    one.seed = workshop.seed() + number;
    one.entries = of_run;
    return run(one);
  });
}

Outcome sum_of(const std::vector<Outcome>& outcomes) {
  Outcome sum;
  for (const Outcome& one : outcomes) sum.add(one);
  return sum;
}

// Mean over the means of the runs.
template <class Count>
Estimate per_entry(const std::vector<Outcome>& outcomes, Count count) {
  Moments moments;
  for (const Outcome& one : outcomes)
    if (one.tally.entries > 0)
      moments.add(static_cast<double>(count(one)) / static_cast<double>(one.tally.entries));
  return mean_of(moments);
}
Estimate messages_of(const std::vector<Outcome>& outcomes) {
  return per_entry(outcomes, [](const Outcome& it) { return it.tally.messages; });
}
Estimate refusals_of(const std::vector<Outcome>& outcomes) {
  return per_entry(outcomes, [](const Outcome& it) { return it.tally.refusals; });
}

double refusals_bound(double competing, double gamma) { return competing / (2 * (1 + gamma)); }

report::ChartPoint point(double x, const Estimate& y) { return {x, y.value, y.low, y.high}; }

Findings messages(Workshop& workshop) {
  constexpr std::uint32_t kSites = 12;
  Findings findings;
  Chart chart{.id = "lock-messages",
              .title = "Messages per entry, 12 sites",
              .caption =
                  "Silence costs n − 1 messages and two more for each refusal; explicit replies "
                  "always cost 2(n − 1).",
              .x_name = "contending sites, s",
              .y_name = "messages per entry"};
  Extremes surplus;
  for (const double gamma : {0.2, 0.5, 1.0}) {
    Series dots{.name = fmt::format("silence, γ = {:g}", gamma), .mark = Mark::dots};
    for (const std::uint32_t competing : {1U, 2U, 4U, 8U, 12U}) {
      const auto outcomes =
          locked(workshop, {.sites = kSites, .contending = competing, .gamma = gamma}, 20'000);
      const Estimate refusals = refusals_of(outcomes);
      const Estimate cost = messages_of(outcomes);
      dots.points.push_back(point(competing, cost));
      const Outcome sum = sum_of(outcomes);
      surplus.add(static_cast<double>(sum.tally.messages) -
                  static_cast<double>((kSites - 1) * sum.tally.entries + 2 * sum.tally.refusals));
      if (competing == 1)
        findings.claims.push_back(equals(
            cited("2.2",
                  fmt::format("without contention an entry costs n − 1 messages, γ = {:g}", gamma)),
            kSites - 1, cost));
      if (competing != kSites) continue;
      findings.claims.push_back(at_most(
          cited("2.2.3, lemma 1",
                fmt::format("refusals per entry are at most s/(2(1+γ)), s = 12, γ = {:g}", gamma)),
          refusals_bound(kSites, gamma), refusals));
      if (gamma != 1) continue;
      findings.claims.push_back(
          erratum_of_lemma_1(workshop, refusals_bound(kSites, gamma), refusals, findings));
      findings.claims.push_back(erratum_of_lemma_2(workshop, kSites, refusals, cost, findings));
    }
    chart.series.push_back(std::move(dots));
  }
  const Estimate replies = messages_of(
      locked(workshop, {.kind = Kind::replies, .sites = kSites, .contending = kSites}, 10'000));
  findings.claims.push_back(
      equals(cited("2.1", "Ricart and Agrawala's lock costs 2(n − 1) messages, n = 12"),
             2 * (kSites - 1), replies));
  chart.series.push_back({.name = "Ricart–Agrawala, 2(n−1)",
                          .points = {{1, 2.0 * (kSites - 1)}, {kSites, 2.0 * (kSites - 1)}}});
  chart.series.push_back({.name = "n − 1", .points = {{1, kSites - 1.0}, {kSites, kSites - 1.0}}});
  findings.charts.push_back(std::move(chart));
  findings.claims.push_back(always(
      cited("2.2", "messages in excess of (n − 1) entries + 2 refusals, all runs"), 0, surplus));
  const Estimate crowded =
      messages_of(locked(workshop, {.sites = kSites, .contending = kSites, .sleep = 0}, 10'000));
  findings.claims.push_back(
      at_most(cited("2.2", "at most 3(n − 1) messages: all sites contend without sleep, n = 12"),
              3 * (kSites - 1), crowded));
  return findings;
}

Findings tail(Workshop& workshop) {
  constexpr double kBeta = 0.5;
  Findings findings;
  Chart chart{.id = "lock-tail",
              .title = "Tail of lemma 1",
              .caption =
                  "Fraction of entries with more than 1.5 times the mean number of refusals of "
                  "lemma 1; all sites contend.",
              .x_name = "sites, n = s",
              .y_name = "fraction of entries"};
  for (const double gamma : {0.5, 1.0}) {
    Series dots{.name = fmt::format("γ = {:g}", gamma), .mark = Mark::dots};
    Estimate first;
    Estimate last;
    for (const std::uint32_t n : {3U, 6U, 12U, 24U}) {
      const Outcome sum = sum_of(locked(workshop, {.sites = n, .contending = n, .gamma = gamma},
                                        n >= 24 ? 8'000 : 16'000));
      std::uint64_t beyond = 0;
      for (std::size_t by = 0; by < sum.refused.size(); ++by)
        if (static_cast<double>(by) > (1 + kBeta) * refusals_bound(n, gamma))
          beyond += sum.refused[by];
      last = proportion(beyond, sum.tally.entries);
      if (n == 3) first = last;
      dots.points.push_back(point(n, last));
    }
    chart.series.push_back(std::move(dots));
    findings.claims.push_back(
        at_most(cited("2.2.3, lemma 1", fmt::format("the tail vanishes as n grows: n = 24 compared "
                                                    "with n = 3, γ = {:g}",
                                                    gamma)),
                first.value, last));
  }
  findings.charts.push_back(std::move(chart));
  return findings;
}

Findings delays(Workshop& workshop) {
  Findings findings;
  Chart chart{
      .id = "lock-wait",
      .title = "From request to entry",
      .caption =
          "Mean wait of all contending sites, including the sleep. The sleep saves messages "
          "and costs time.",
      .x_name = "sites, n = s",
      .y_name = "milliseconds"};
  Series silent{.name = "silence", .mark = Mark::dots};
  Series awake{.name = "silence, no sleep", .mark = Mark::dots};
  Series replies{.name = "explicit replies", .mark = Mark::dots};
  Extremes by_bound;
  std::uint64_t beyond = 0;
  std::uint64_t entries = 0;
  const auto mean_ms = [](const Outcome& it) {
    return static_cast<double>(it.tally.waits.mean().count()) * 1e-6;
  };
  for (const std::uint32_t n : {2U, 4U, 8U, 12U})
    for (const auto& [series, setup] :
         {std::pair<Series*, Setup>{&silent, {.sites = n, .contending = n}},
          {&awake, {.sites = n, .contending = n, .sleep = 0}},
          {&replies, {.kind = Kind::replies, .sites = n, .contending = n}}}) {
      const Outcome sum = sum_of(locked(workshop, setup, 10'000));
      series->points.push_back({static_cast<double>(n), mean_ms(sum)});
      if (setup.kind == Kind::replies) continue;
      by_bound.add(sum.longest_by_bound);
      beyond += sum.beyond_bound;
      entries += sum.tally.entries;
    }
  chart.series = {std::move(silent), std::move(awake), std::move(replies)};
  findings.charts.push_back(std::move(chart));
  findings.claims.push_back(
      never_above(cited("2.2.4",
                        "the granting delay is bounded: largest delay, relative to the bound "
                        "corrected for windows, holds and handlers"),
                  1, by_bound));
  findings.claims.push_back(never(cited("2.2.4", "an entry exceeds that bound"), beyond, entries));
  return findings;
}

Findings exclusion(Workshop& workshop) {
  Findings findings;
  for (const Kind kind : {Kind::mutex, Kind::rw}) {
    const char* name = kind == Kind::mutex ? "mutual exclusion" : "readers and writers";
    const std::uint32_t readers = kind == Kind::rw ? 2 : 0;
    const Outcome corrected = sum_of(locked(workshop, {.kind = kind, .readers = readers}, 60'000));
    findings.claims.push_back(
        never(cited(kind == Kind::mutex ? "2.2" : "3.1",
                    fmt::format("{}, corrected: two conflicting clients are inside", name)),
              corrected.tally.violations, corrected.tally.entries));
    const Outcome crashed =
        sum_of(locked(workshop, {.kind = kind, .readers = readers, .crashes = 0.3}, 20'000));
    findings.claims.push_back(
        never(cited("2.2.5", fmt::format("{}, corrected, a crash and restart at every third entry: "
                                         "two conflicting clients inside, or a deadlock",
                                         name)),
              crashed.tally.violations + crashed.tally.deadlocks, crashed.tally.entries));
  }
  Chart chart{.id = "lock-loss",
              .title = "Silence under message loss",
              .caption =
                  "Fraction of entries while another client is inside. A lock that treats silence "
                  "as consent requires a network without loss.",
              .x_name = "fraction of messages lost",
              .y_name = "fraction of entries",
              .x_log = true,
              .y_log = true};
  Series silent{.name = "silence", .mark = Mark::dots};
  for (const double loss : {0.001, 0.01, 0.1}) {
    const Outcome sum = sum_of(locked(workshop, {.loss = loss}, 30'000));
    silent.points.push_back(point(loss, proportion(sum.tally.violations, sum.tally.entries)));
    if (loss == 0.1) {
      findings.claims.push_back(
          happens(cited("1", "exclusion fails if messages are lost, 10 % loss"),
                  sum.tally.violations, sum.tally.entries));
      const Outcome explicitly =
          sum_of(locked(workshop, {.kind = Kind::replies, .loss = loss}, 10'000));
      findings.claims.push_back(
          never(cited("2.1", "explicit replies preserve exclusion, 10 % loss"),
                explicitly.tally.violations, explicitly.tally.entries));
    }
  }
  chart.series = {std::move(silent)};
  findings.charts.push_back(std::move(chart));
  return findings;
}

Findings readers(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "lock-readers",
              .title = "Attempts of an optimistic reader",
              .caption =
                  "A write takes as long as a read, four pieces each; the line is the "
                  "paper's bound.",
              .x_name = "γ",
              .y_name = "attempts per read"};
  Series bound{.name = "2/γ + 1"};
  Series dots{.name = "simulated", .mark = Mark::dots};
  std::uint64_t torn = 0;
  std::uint64_t reads = 0;
  for (const double gamma : {0.1, 0.25, 0.5, 0.75, 1.0}) {
    const auto outcomes = locked(workshop, {.kind = Kind::optimistic, .gamma = gamma}, 20'000);
    const Estimate attempts = per_entry(outcomes, [](const Outcome& it) { return it.attempts; });
    bound.points.push_back({gamma, 2 / gamma + 1});
    dots.points.push_back(point(gamma, attempts));
    const Outcome sum = sum_of(outcomes);
    torn += sum.torn;
    reads += sum.tally.entries;
    findings.claims.push_back(at_most(
        cited("3.2", fmt::format("attempts of a reader are at most 2/γ + 1, γ = {:g}", gamma)),
        2 / gamma + 1, attempts));
  }
  chart.series = {std::move(bound), std::move(dots)};
  findings.charts.push_back(std::move(chart));
  findings.claims.push_back(
      never(cited("3.2", "a reader accepts pieces of two writes as one value"), torn, reads));
  const auto lamport = locked(workshop, {.kind = Kind::optimistic, .waits = false}, 4'000);
  findings.claims.push_back(happens(
      cited("3.2",
            "without the waits (Lamport's version) readers starve: runs in which reads stop "
            "succeeding"),
      sum_of(lamport).tally.deadlocks, lamport.size()));
  return findings;
}

}  // namespace

const std::vector<Experiment>& archimedean_lock_experiments() {
  static const std::vector<Experiment> all{
      {"lock-messages", Paper::archimedean, "Messages per entry",
       "Silence as consent, depending on contention and γ = rmin/rmax, compared with Ricart and "
       "Agrawala's lock.",
       2, messages},
      {"lock-tail", Paper::archimedean, "Refusals per entry",
       "The distribution behind the mean of lemma 1.", 1, tail},
      {"lock-wait", Paper::archimedean, "Granting delay", "Time from request to entry.", 1, delays},
      {"lock-exclusion", Paper::archimedean, "Exclusion",
       "The corrected locks, with and without crashes, and under violated bounds.", 1.5, exclusion},
      {"lock-readers", Paper::archimedean, "Optimistic readers",
       "Readers that retry, and their number of attempts.", 0.5, readers},
      {"lock-errata", Paper::archimedean, "The locks as printed",
       "Counterexamples found by the checker, and their frequency in simulation.", 0.5,
       archimedean_lock_errata}};
  return all;
}

}  // namespace tempo::papers
