#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "lab/analysis/collision.h"
#include "lab/papers/tempo_paper.h"

namespace tempo::papers {
namespace {

using report::Chart;
using report::Mark;
using report::Series;
using sim::election::Outcome;
using sim::election::Scenario;
using sim::election::Setup;

Statement cited(std::string section, std::string says) {
  return cited_tempo(std::move(section), std::move(says));
}

struct Case {
  std::uint32_t daemons;
  std::int64_t window_s;
  std::int64_t width_s;
};

double law(const Case& asked) {
  return analysis::collision(
             {.daemons = asked.daemons, .window = asked.window_s, .width = asked.width_s})
      .nearest();
}

// Newly drawn timers; the window is the time until a candidate is received.
Setup setup_of(const Case& asked) {
  Setup setup = plain_setup("classic", asked.daemons + 1);
  setup.link.delay = sim::Delay::constant(std::chrono::seconds(asked.window_s));
  setup.rules.timing.election_max =
      setup.rules.timing.election_min + std::chrono::seconds(asked.width_s);
  return setup;
}

Estimate first_attempts(const std::vector<Outcome>& outcomes) {
  std::uint64_t made = 0;
  std::uint64_t collided = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.attempts.empty()) continue;
    ++made;
    collided += outcome.attempts.front().collided;
  }
  return proportion(collided, made);
}

// One more chart of the formula: the varied parameter and its values.
struct Sweep {
  const char* id;
  const char* title;
  const char* x_name;
  std::vector<Case> cases;
  double (*x)(const Case&);
};

void add_sweep(Workshop& workshop, const Sweep& sweep, Findings& findings) {
  Chart chart{.id = sweep.id,
              .title = sweep.title,
              .caption =
                  "The line is 1 − (1 − δ/R)^N, the dots are first attempts of simulated "
                  "elections.",
              .x_name = sweep.x_name,
              .y_name = "probability of a collision"};
  Series line{.name = "the paper's formula"};
  Series dots{.name = "simulated", .mark = Mark::dots};
  for (const Case& one : sweep.cases) {
    const double x = sweep.x(one);
    const double predicted = law(one);
    const Estimate part = first_attempts(
        elections(workshop, Scenario::collision, setup_of(one), workshop.runs(3'000)));
    line.points.push_back({x, predicted});
    dots.points.push_back({x, part.value, part.low, part.high});
    findings.claims.push_back(
        equals(cited("appendix, (3)", fmt::format("collision of {} daemons, δ = {} s, R = {} s",
                                                  one.daemons, one.window_s, one.width_s)),
               predicted, part));
  }
  chart.series = {std::move(line), std::move(dots)};
  findings.charts.push_back(std::move(chart));
}

// Fraction of the k-th attempts that collide.
std::vector<Estimate> by_attempt(const std::vector<Outcome>& outcomes, std::size_t attempts) {
  std::vector<std::uint64_t> made(attempts);
  std::vector<std::uint64_t> collided(attempts);
  for (const Outcome& outcome : outcomes)
    for (std::size_t i = 0; i < std::min(attempts, outcome.attempts.size()); ++i) {
      made[i] += outcome.attempts[i].made;
      collided[i] += outcome.attempts[i].collided;
    }
  std::vector<Estimate> parts;
  for (std::size_t i = 0; i < attempts; ++i) parts.push_back(proportion(collided[i], made[i]));
  return parts;
}

// Two daemons that collide draw again from twice the width. The difference of two draws of a width
// W is triangular; after a collision the two timers start with the offset of the candidacies, so
// that the next collision is slightly less likely than by the formula. Computes the probability of
// each attempt by summing over this offset.
std::vector<double> repeated(const Case& pair, std::size_t attempts) {
  constexpr std::size_t kPieces = 400;
  const auto window = static_cast<double>(pair.window_s);
  const double piece = window / kPieces;
  std::vector<double> apart{0};
  std::vector<double> weight{1};
  std::vector<double> collide;
  for (std::size_t k = 0; k < attempts; ++k) {
    const auto width = static_cast<double>(pair.width_s << k);
    std::vector<double> next_apart;
    std::vector<double> next_weight;
    double sum = 0;
    for (std::size_t j = 0; j < kPieces; ++j) {
      const double then = (static_cast<double>(j) + 0.5) * piece;
      double density = 0;
      for (std::size_t i = 0; i < apart.size(); ++i)
        density += weight[i] * 2 / width * (1 - std::max(apart[i], then) / width);
      next_apart.push_back(then);
      next_weight.push_back(density * piece);
      sum += density * piece;
    }
    for (double& each : next_weight) each /= sum;
    collide.push_back(sum);
    apart = std::move(next_apart);
    weight = std::move(next_weight);
  }
  return collide;
}

void add_repetitions(Workshop& workshop, Findings& findings) {
  constexpr std::size_t kAttempts = 4;
  const Case pair{.daemons = 2, .window_s = 20, .width_s = 60};
  const Case crowd{.daemons = 20, .window_s = 5, .width_s = 300};
  Chart chart{.id = "tempo-repetitions",
              .title = "Collisions in each repetition",
              .caption =
                  "Daemons that collide draw again from twice the width. 2 daemons, δ/R = 1/3, and "
                  "20 daemons, δ/R = 1/60.",
              .x_name = "attempt",
              .y_name = "probability of a collision"};
  const std::vector<double> predicted = repeated(pair, kAttempts);
  Series line{.name = "2 daemons, computed from R, 2R, 4R, 8R"};
  Series dots{.name = "2 daemons", .mark = Mark::dots};
  Series many{.name = "20 daemons", .mark = Mark::dots};
  const auto pairs = by_attempt(
      elections(workshop, Scenario::collision, setup_of(pair), workshop.runs(4'000)), kAttempts);
  const auto crowds = by_attempt(
      elections(workshop, Scenario::collision, setup_of(crowd), workshop.runs(2'000)), kAttempts);
  for (std::size_t i = 0; i < kAttempts; ++i) {
    const auto x = static_cast<double>(i + 1);
    line.points.push_back({x, predicted[i]});
    if (pairs[i].runs > 0) dots.points.push_back({x, pairs[i].value, pairs[i].low, pairs[i].high});
    if (crowds[i].runs > 0)
      many.points.push_back({x, crowds[i].value, crowds[i].low, crowds[i].high});
    if (i > 0 && i < 3)
      findings.claims.push_back(
          equals(cited("5.2, 7", fmt::format("each repetition is less likely to collide: attempt "
                                             "{} of two daemons, drawn from {} times the width",
                                             i + 1, 1 << i)),
                 predicted[i], pairs[i]));
  }
  chart.series = {std::move(line), std::move(dots), std::move(many)};
  findings.charts.push_back(std::move(chart));
}

}  // namespace

Findings tempo_collisions(Workshop& workshop) {
  Findings findings;
  add_sweep(workshop,
            {"tempo-collision-daemons",
             "By the number of daemons, δ = 10 s, R = 540 s",
             "daemons, N",
             {{2, 10, 540}, {5, 10, 540}, {10, 10, 540}, {20, 10, 540}, {40, 10, 540}},
             [](const Case& it) { return static_cast<double>(it.daemons); }},
            findings);
  add_sweep(workshop,
            {"tempo-collision-window",
             "By the window, N = 10, R = 540 s",
             "window δ, seconds",
             {{10, 2, 540}, {10, 5, 540}, {10, 15, 540}, {10, 20, 540}},
             [](const Case& it) { return static_cast<double>(it.window_s); }},
            findings);
  add_sweep(workshop,
            {"tempo-collision-width",
             "By the width, N = 10, δ = 10 s",
             "width R, seconds",
             {{10, 10, 100}, {10, 10, 200}, {10, 10, 300}, {10, 10, 1000}},
             [](const Case& it) { return static_cast<double>(it.width_s); }},
            findings);
  add_repetitions(workshop, findings);
  const analysis::Collision usual{
      .daemons = 20, .window = analysis::Fraction(1, 100), .width = 540};
  findings.claims.push_back(same(
      cited("appendix, (2)", "the integral equals the closed form, N = 20, δ = 10 ms, R = 540 s"),
      fmt::format("{:.9g}", collision(usual).nearest()),
      fmt::format("{:.9g}", collision_integral(usual).nearest())));
  findings.claims.push_back(at_most(cited("5.2", "collision probabilities are at most Nδ/R"),
                                    collision_bound(usual).nearest(),
                                    {.value = collision(usual).nearest(),
                                     .low = collision(usual).nearest(),
                                     .high = collision(usual).nearest(),
                                     .runs = 1}));
  const analysis::Collision lone{.daemons = 1, .window = analysis::Fraction(1, 100), .width = 540};
  findings.claims.push_back(erratum(
      cited("appendix, (3)", "N daemons collide with probability 1 − (1 − δ/R)^N: N = 1"),
      {.printed = fmt::format("{}, δ/R", (lone.window / lone.width).text()),
       .seen = fmt::format("{}: a daemon without a rival does not collide", collision(lone).text()),
       .repair = "the equation holds for N ≥ 2; it counts a timer that expires within δ of the end "
                 "of the interval as a collision, which needs a second daemon",
       .found = collision(lone) == analysis::Fraction{0}}));
  return findings;
}

}  // namespace tempo::papers
