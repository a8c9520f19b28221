#include "lab/papers/tempo_paper.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "lab/papers/check_trace.h"
#include "lab/studies/election/baselines.h"
#include "lab/studies/sync/experiment.h"
#include "lab/studies/sync/round.h"

namespace tempo::papers {
namespace {

using election::Timing;
using report::Chart;
using report::Mark;
using report::Series;
using sim::election::Outcome;
using sim::election::Scenario;
using sim::election::Setup;

Statement cited(std::string section, std::string says) {
  return cited_tempo(std::move(section), std::move(says));
}

// An approximation of a 1985 Ethernet: a round every four minutes, clocks with rate errors of up to
// 50 ppm, and daemons that wait for the processor.
sim::sync::Experiment of_1985(std::uint64_t seed) {
  return {.clients = 14,
          .up = *sim::Delay::parse("2ms+exp:3ms"),
          .down = *sim::Delay::parse("2ms+exp:3ms"),
          .offset = 1s,
          .rate = 1.0 / 240,
          .seconds = 20'000,
          .discard = 8'000,
          .seed = seed};
}

Diagram round_of(std::uint64_t seed) {
  const sim::Delay delay = *sim::Delay::parse("2ms+exp:1ms");
  const sim::sync::Round round =
      sim::sync::first_round({.clients = 2, .up = delay, .down = delay, .seed = seed});
  const auto ms = [](Nanos span) { return static_cast<double>(span.count()) * 1e-6; };
  return diagram_of(
      round.drawn->trace(), "tempo-round", "One round (the paper's figure 1)",
      fmt::format("The first round of three machines that have just started, with complete nodes. "
                  "Each slave asks the master for its time (probe, echo), measures the offset of "
                  "its own clock, and reports it with its next probe. The master averages the "
                  "rates of all clocks, including its own, and sends adjtime to the slaves; each "
                  "corrects its clock by the measured offset: slowly, or at once if the clock was "
                  "far off when the machine joined. In the paper the master asks, and its message "
                  "carries the correction: a difference, so that in both cases the delay of this "
                  "message does not matter. At the beginning of the picture the clocks are up to "
                  "{:.2f} ms from the master's, a second later up to {:.2f} ms.",
                  ms(round.before), ms(round.after)),
      {.names = {"master", "slave 1", "slave 2"}, .from = round.from, .to = round.to});
}

Findings synchronization(Workshop& workshop) {
  Findings findings;
  findings.diagrams.push_back(round_of(workshop.seed()));

  struct Kept {
    double apart_ms = 0;
    bool broken = false;
  };
  const auto outcomes = gathered(workshop, workshop.runs(4), [&](std::uint64_t number) {
    const sim::sync::Outcome one = run(of_1985(workshop.seed() + number));
    return Kept{.apart_ms = 2 * one.most / 1000, .broken = one.bound_violations > 0};
  });
  Extremes farthest;
  for (const Kept& one : outcomes) farthest.add(one.apart_ms);
  findings.claims.push_back(never_above(
      cited("1",
            "clocks stay within 20 ms, with the rounds, drift and delays of 1985: twice the "
            "largest offset from the master"),
      20, farthest, " ms"));
  std::uint64_t broken = 0;
  for (const Kept& one : outcomes) broken += one.broken ? 1U : 0U;
  findings.claims.push_back(
      never(cited("1", "a clock is outside its claimed bound (tempo's addition)"), broken,
            outcomes.size()));

  Chart chart{.id = "tempo-clocks",
              .title = "Convergence of the clocks",
              .caption =
                  "Offset from the master's clock after a start; parameters of 1985, five of the "
                  "fourteen clients. The line is the paper's 20 ms.",
              .x_name = "seconds",
              .y_name = "offset, ms",
              .y_log = true};
  sim::sync::Experiment start = of_1985(workshop.seed());
  start.discard = 0;
  start.seconds = 3'000;
  const sim::sync::Outcome begun = run(start);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, begun.errors.size()); ++i) {
    Series series{.name = fmt::format("client {}", i + 1)};
    for (std::size_t s = 0; s < begun.errors[i].size(); s += 15)
      if (std::isfinite(begun.errors[i][s]))
        series.points.push_back(
            {static_cast<double>(s + 1), std::max(1e-3, std::abs(begun.errors[i][s]) / 1000)});
    chart.series.push_back(std::move(series));
  }
  chart.series.push_back({.name = "20 ms", .points = {{1, 20}, {3000, 20}}});
  findings.charts.push_back(std::move(chart));
  return findings;
}

Findings messages(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "tempo-messages",
              .title = "Messages of an election",
              .caption =
                  "Messages among N survivors; a broadcast counts once. Lines: formulas. Dots: "
                  "simulated.",
              .x_name = "survivors, N",
              .y_name = "messages",
              .x_log = true,
              .y_log = true};
  Series one_law{.name = "one candidate, 3N−1"};
  Series two_law{.name = "two candidates, 4N−2"};
  Series square{.name = "N²"};
  Series one{.name = "one candidate", .mark = Mark::dots, .colour = 0};
  Series two{.name = "two candidates", .mark = Mark::dots, .colour = 1};
  Series lelann{.name = "LeLann", .mark = Mark::dots};
  Series bully{.name = "bully, worst case", .mark = Mark::dots};
  Series best{.name = "bully, best case", .mark = Mark::dots};
  Extremes one_surplus;
  Extremes two_surplus;
  Extremes baseline_surplus;
  for (const std::uint32_t n : {2U, 3U, 5U, 8U, 12U, 20U, 35U, 60U, 100U}) {
    if (workshop.stopped()) return {};
    const double size = n;
    Setup setup = plain_setup("lan", n + 1);
    setup.link.delay = sim::Delay::uniform(100us, 2ms);
    const std::uint64_t runs = workshop.runs(20);
    double seen = 0;
    for (const Outcome& outcome : elections(workshop, Scenario::master_crash, setup, runs)) {
      seen = static_cast<double>(outcome.election_messages);
      one_surplus.add(seen - (3 * size - 1));
    }
    one.points.push_back({size, seen});
    for (const Outcome& outcome : elections(workshop, Scenario::two_candidates, setup, runs)) {
      seen = static_cast<double>(outcome.election_messages);
      two_surplus.add(seen - (4 * size - 2));
    }
    two.points.push_back({size, seen});
    const auto baselines = sim::election::baseline_costs(n, workshop.seed(), setup.link.delay);
    std::array<Series*, 3> rows{&lelann, &best, &bully};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i]->points.push_back({size, static_cast<double>(baselines.at(i).messages)});
      baseline_surplus.add(static_cast<double>(baselines.at(i).messages) -
                           static_cast<double>(baselines.at(i).predicted));
    }
    one_law.points.push_back({size, 3 * size - 1});
    two_law.points.push_back({size, 4 * size - 2});
    square.points.push_back({size, size * size});
  }
  chart.series = {one_law, two_law, square, one, two, lelann, best, bully};
  findings.charts.push_back(std::move(chart));
  findings.claims.push_back(
      always(cited("7", "one candidate: messages in excess of 3N−1, N = 2 … 100"), 0, one_surplus));
  findings.claims.push_back(always(
      cited("7", "two candidates: messages in excess of 4N−2, N = 2 … 100"), 0, two_surplus));
  findings.claims.push_back(
      always(cited("2", "LeLann's and the bully election: messages in excess of N², N−1 and N²−1"),
             0, baseline_surplus));
  sim::Trace trace(true);
  Setup small = plain_setup("lan", 5);
  small.seed = workshop.seed();
  const sim::election::Experiment crash = *plan_of(Scenario::master_crash, small, Nanos{0});
  run(crash, &trace);
  findings.diagrams.push_back(
      diagram_of(trace, "tempo-election", "The normal case (section 5.1)",
                 "The master dies; of four survivors the one whose timer expires first is elected "
                 "with eleven messages.",
                 {.nodes = 5, .from = crash.study_from - 1ms, .to = crash.study_from + 6s}));
  return findings;
}

// Every timer starts with the last message of the master; the first node whose timer expires
// becomes a candidate, the answers take two delays, and then the candidate time passes without
// messages.
Findings new_master(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "tempo-time",
              .title = "Time to a new master",
              .caption =
                  "From the master's crash; profile lan, delay 1 ms. The line follows from the "
                  "minimum of N timers.",
              .x_name = "survivors, N",
              .y_name = "seconds"};
  Series law{.name = "r + R/(N+1) and the following delays"};
  Series dots{.name = "simulated", .mark = Mark::dots};
  for (const std::uint32_t n : {2U, 3U, 6U, 12U, 25U}) {
    const Setup setup = plain_setup("lan", n + 1);
    const Timing& timing = setup.rules.timing;
    Moments times;
    for (const Outcome& outcome :
         elections(workshop, Scenario::master_crash, setup, workshop.runs(2'000)))
      if (outcome.reached && !outcome.collided)
        times.add(milliseconds_of(outcome.time_to_master) / 1000);
    const Nanos since_last_word = 3 * timing.loop / 5 - 1ms;
    const double expected =
        (milliseconds_of(timing.election_min) +
         milliseconds_of(timing.election_max - timing.election_min) / (n + 1) -
         milliseconds_of(since_last_word) + 2 + milliseconds_of(timing.candidate)) /
        1000;
    const Estimate measured = mean_of(times);
    law.points.push_back({static_cast<double>(n), expected});
    dots.points.push_back({static_cast<double>(n), measured.value, measured.low, measured.high});
    findings.claims.push_back(equals(
        cited("5.1", fmt::format(
                         "the first of {} timers gives the candidate, which is master when no more "
                         "Accepts come: mean time in seconds, no collision",
                         n)),
        expected, measured));
  }
  chart.series = {std::move(law), std::move(dots)};
  findings.charts.push_back(std::move(chart));

  const auto missed =
      elections(workshop, Scenario::missed_election, plain_setup("lan", 7), workshop.runs(300));
  std::uint64_t not_first = 0;
  for (const Outcome& outcome : missed)
    not_first += outcome.final_masters != std::vector<NodeId>{NodeId{1}} ? 1U : 0U;
  findings.claims.push_back(never(
      cited("5.2",
            "a slave that missed the Election becomes a candidate too: another than the first "
            "candidate becomes master"),
      not_first, missed.size()));
  return findings;
}

Findings partition(Workshop& workshop) {
  Findings findings;
  Setup printed = plain_setup("lan", 7);
  printed.rules.variant = election::kAsPrinted;
  const std::uint64_t runs = workshop.runs(100);
  Extremes split;
  for (const Outcome& outcome : elections(workshop, Scenario::partition_heal, printed, runs, 60s))
    split.add(outcome.masters);
  findings.claims.push_back(always(
      cited("5.3", "two masters remain after a partition is repaired: masters after a minute"), 2,
      split));
  Extremes resolved;
  for (const Outcome& outcome : elections(workshop, Scenario::newcomer_conflict, printed, runs))
    resolved.add(static_cast<double>(outcome.final_masters.size()));
  findings.claims.push_back(always(
      cited("5.3", "a newcomer that receives answers of both restores one master"), 1, resolved));
  const Setup corrected = plain_setup("lan", 7);
  Extremes repair;
  for (const Outcome& outcome :
       elections(workshop, Scenario::partition_heal, corrected, workshop.runs(400)))
    repair.add(milliseconds_of(outcome.time_to_master));
  findings.claims.push_back(never_above(
      cited("5.3", "tempo repairs this without a newcomer, within two Loops and two delays"),
      2 * milliseconds_of(corrected.rules.timing.loop) + 2, repair, " ms"));
  sim::Trace trace(true);
  Setup small = plain_setup("lan", 5);
  small.rules.variant = election::kAsPrinted;
  small.seed = workshop.seed();
  const sim::election::Experiment conflict = *plan_of(Scenario::newcomer_conflict, small, Nanos{0});
  run(conflict, &trace);
  findings.diagrams.push_back(
      diagram_of(trace, "tempo-two-masters", "Two masters and a newcomer (section 5.3), as printed",
                 "Node 5 starts after the network has healed and receives answers of two masters; "
                 "it informs the first.",
                 {.nodes = 5, .from = conflict.peace_from - 2ms, .to = conflict.peace_from + 1s}));
  return findings;
}

Findings repeats(Workshop& workshop) {
  Findings findings;
  Chart chart{.id = "tempo-loss",
              .title = "Simultaneous start of seven nodes under loss",
              .caption =
                  "Fraction of starts with two masters. Repeating Masterreq and Election is "
                  "tempo's addition.",
              .x_name = "fraction of messages lost",
              .y_name = "fraction of starts with two masters"};
  std::uint64_t broken = 0;
  std::uint64_t all = 0;
  for (const std::uint32_t extra : {0U, 4U}) {
    Series dots{.name = extra == 0 ? "sent once" : "repeated four times", .mark = Mark::dots};
    for (const double loss : {0.05, 0.1, 0.2, 0.3, 0.4}) {
      Setup setup = plain_setup("lan", 7);
      setup.link = {.delay = sim::Delay::uniform(100us, 2ms), .loss = loss};
      setup.rules.repeats = extra;
      std::uint64_t two = 0;
      const auto outcomes = elections(workshop, Scenario::start, setup, workshop.runs(2'000));
      for (const Outcome& outcome : outcomes) {
        two += outcome.masters > 1 || outcome.ever_two_masters ? 1U : 0U;
        broken += outcome.violation_count > 0 ? 1U : 0U;
      }
      all += outcomes.size();
      const Estimate part = proportion(two, outcomes.size());
      dots.points.push_back({loss, part.value, part.low, part.high});
      if (loss == 0.3 && extra == 4)
        findings.claims.push_back(
            at_most(cited("3, 5.1",
                          "repeats make two masters rare: 30 % loss, simultaneous start of seven"),
                    0.02, part));
      if (loss == 0.3 && extra == 0)
        findings.claims.push_back(
            happens(cited("3, 5.1", "without repeats two masters are common, 30 % loss"), two,
                    outcomes.size()));
    }
    chart.series.push_back(std::move(dots));
  }
  findings.charts.push_back(std::move(chart));
  findings.claims.push_back(
      never(cited("1", "loss is masked: a run does not end with one master that all follow"),
            broken, all));
  Setup churned = plain_setup("lan", 7);
  churned.rules.repeats = 4;
  churned.link = {
      .delay = sim::Delay::uniform(100us, 2ms), .loss = 0.1, .duplicate = 0.05, .reorder = 0.1};
  std::uint64_t days = 0;
  const auto outcomes = elections(workshop, Scenario::churn, churned, workshop.runs(400));
  for (const Outcome& outcome : outcomes) days += outcome.violation_count > 0 ? 1U : 0U;
  findings.claims.push_back(
      never(cited("1",
                  "machine failures during elections, loss, delay, duplicates and partitions are "
                  "tolerated: a property is violated"),
            days, outcomes.size()));
  return findings;
}

}  // namespace

const std::vector<Experiment>& tempo_experiments() {
  static const std::vector<Experiment> all{
      {"tempo-synchronization", Paper::tempo, "One round, and 20 ms",
       "Figure 1: clocks are measured, averaged and corrected. Complete nodes, simulated with the "
       "parameters of 1985.",
       3, synchronization},
      {"tempo-messages", Paper::tempo, "Messages",
       "An election with one candidate and with two, compared with LeLann's and the bully "
       "election.",
       0.5, messages},
      {"tempo-collisions", Paper::tempo, "Collisions",
       "Probability that two timers expire together: by the number of daemons, the window and the "
       "width, and in each repetition.",
       4, tempo_collisions},
      {"tempo-time", Paper::tempo, "Time to a new master",
       "From the death of the master to the next master.", 1, new_master},
      {"tempo-partition", Paper::tempo, "Partition and repair",
       "Two masters after a partition has healed, and how they find each other.", 0.2, partition},
      {"tempo-loss", Paper::tempo, "Repeats under loss", "The effect of repeated messages.", 2,
       repeats},
      {"tempo-hypotheses", Paper::tempo, "The hypotheses, each violated once",
       "Section 3 lists the assumptions of the algorithm. Without any one of them it fails; the "
       "protocol as printed.",
       0.2, tempo_hypotheses},
      {"tempo-errata", Paper::tempo, "Errata",
       "Readings of the text that fail, found by the checker, and the corrected election in the "
       "same worlds.",
       2, tempo_errata}};
  return all;
}

}  // namespace tempo::papers
