#include "lab/cli/analyze.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/json.h"
#include "base/number_text.h"
#include "base/result.h"
#include "base/span_text.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "lab/analysis/algorithm_c.h"
#include "lab/analysis/anonymous_ring.h"
#include "lab/analysis/collision.h"
#include "lab/analysis/decimal.h"
#include "lab/analysis/ring_time.h"
#include "lab/cli/output.h"
#include "lab/papers/machine_rounds.h"
#include "lab/report/bars.h"

namespace tempo::cli {
namespace {

using analysis::Fraction;
using analysis::Number;
using analysis::RingTime;

constexpr std::size_t kMaxFractionDigits = 200;  // of numerator and denominator
constexpr std::uint64_t kMaxRange = std::uint64_t{1} << 32;

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

Result<Range> range_of(const char* option, const std::string& text, std::uint32_t most) {
  const std::size_t dots = text.find("..");
  const auto first = parse_number<std::uint32_t>(std::string_view{text}.substr(0, dots));
  const auto last = dots == std::string::npos
                        ? first
                        : parse_number<std::uint32_t>(std::string_view{text}.substr(dots + 2));
  if (!first || !last || *first > *last || *last > most)
    return std::unexpected(fmt::format(
        "{} must be a number or a range up to {}, such as 1..10, not '{}'", option, most, text));
  return Range{*first, *last};
}

bool short_enough(const std::optional<Fraction>& exact) {
  return exact && exact->digits() <= kMaxFractionDigits;
}

void add_value(Json& json, const Number& value) {
  if (short_enough(value.exact)) json.add("fraction", value.exact->text());
  json.add("decimal", value.decimal);
}
Json value_json(const Number& value) {
  Json json = Json::object();
  add_value(json, value);
  return json;
}
Number number_of(const Fraction& exact) {
  return {exact, analysis::decimal(exact), exact.nearest()};
}
// For tables: the fraction if it is short, else the decimal.
std::string brief(const Number& value) {
  if (value.exact && value.exact->digits() <= 12 && value.exact->text() != value.decimal)
    return fmt::format("{} = {:.6g}", value.exact->text(), value.nearest);
  return value.decimal;
}

std::string bar_value(double share) { return fmt::format("{:.6g}", share); }

Json chains_json(const RingTime& ring) {
  const std::uint32_t n = ring.stations();
  const std::vector<analysis::Whole> nondecreasing =
      analysis::circular_nondecreasing(n, ring.range());
  Json list = Json::array();
  for (std::uint32_t k = 1; k <= n; ++k)
    list.push(Json::object()
                  .add("k", std::uint64_t{k})
                  .add("Ltilde", analysis::linear_nondecreasing(n, ring.range(), k).text())
                  .add("L", analysis::linear_increasing(n, ring.range(), k).text())
                  .add("R", ring.chains().at(n, k).text())
                  .add("Rtilde", nondecreasing[k].text())
                  .add("p", value_json(number_of(ring.step(n, k)))));
  return list;
}

// All results, computed once for both forms of output.
struct RingAnswer {
  Range rounds;
  std::vector<Number> distribution;
  std::vector<Number> raw;
  std::vector<Number> central;
  std::vector<Number> productive;
};

void print_ring(const AnalyzeRingArguments& arguments, const RingTime& ring,
                const RingAnswer& answer) {
  print("{} stations, priorities 1..{}: probability of k rounds until one station remains\n\n",
        arguments.stations, arguments.range);
  std::vector<report::Bar> rows;
  for (std::uint32_t k = answer.rounds.first; k <= answer.rounds.last; ++k) {
    const Number& p = answer.distribution[k - answer.rounds.first];
    rows.push_back({fmt::format("{}", k), bar_value(p.nearest), p.nearest});
  }
  print("{}\n", report::bars(rows, stdout_width(), stdout_shows_unicode()));
  report::Table table({"what", "value"});
  table.row({"mean", brief(answer.raw[1])});
  table.row({"variance", brief(answer.central[2])});
  for (std::uint32_t q = 3; q <= arguments.moments; ++q)
    table.row({fmt::format("central moment {}", q), brief(answer.central[q])});
  table.row({"productive rounds, mean", brief(answer.productive[0])});
  table.row({"productive rounds, variance", brief(answer.productive[1])});
  table.row({"growth law", fmt::format("{:.6g}", ring.growth())});
  table.row(
      {"hops, mean", fmt::format("{:.6g}", arguments.stations * (answer.raw[1].nearest + 1))});
  print("{}", table.text({.unicode = stdout_shows_unicode()}));
}

Json ring_json(const AnalyzeRingArguments& arguments, const RingTime& ring,
               const RingAnswer& answer) {
  Json json = Json::object();
  json.add("stations", std::uint64_t{arguments.stations}).add("range", arguments.range);
  Json list = Json::array();
  for (std::uint32_t k = answer.rounds.first; k <= answer.rounds.last; ++k) {
    Json row = Json::object();
    row.add("k", std::uint64_t{k});
    add_value(row, answer.distribution[k - answer.rounds.first]);
    if (arguments.stations >= 2 && k >= arguments.stations)
      row.add("bound", analysis::decimal(ring.bound(k), 10));
    list.push(row);
  }
  json.add("P", list)
      .add("mean", value_json(answer.raw[1]))
      .add("variance", value_json(answer.central[2]))
      .add("productive_rounds", Json::object()
                                    .add("mean", value_json(answer.productive[0]))
                                    .add("variance", value_json(answer.productive[1])))
      .add("growth", ring.growth());
  Json moments = Json::array();
  for (std::uint32_t q = 1; q <= arguments.moments; ++q)
    moments.push(Json::object()
                     .add("order", std::uint64_t{q})
                     .add("raw", value_json(answer.raw[q]))
                     .add("central", value_json(answer.central[q])));
  json.add("moments", moments);
  if (arguments.chains) json.add("chains", chains_json(ring));
  return json;
}

// Seconds of a text such as 0.01, 1/100 or 10ms.
Result<Fraction> seconds_of(const std::string& text, const char* option) {
  if (const Result<Fraction> plain = Fraction::parse(text)) return *plain;
  if (const Result<Nanos> span = parse_span(text)) return Fraction{span->count(), 1'000'000'000};
  return std::unexpected(
      fmt::format("{} must be a number of seconds or a span, such as 0.01, 1/100 or 10ms, not '{}'",
                  option, text));
}

}  // namespace

int analyze_ring(const AnalyzeRingArguments& arguments) {
  if (arguments.stations < 1 || arguments.stations > RingTime::kMaxStations)
    return bad_usage(fmt::format("--stations must be from 1 to {}, not {}", RingTime::kMaxStations,
                                 arguments.stations));
  if (arguments.range < 2 || arguments.range > kMaxRange)
    return bad_usage(
        fmt::format("--range must be from 2 to {}, not {}", kMaxRange, arguments.range));
  if (arguments.moments < 1 || arguments.moments > RingTime::kMaxMoments)
    return bad_usage(fmt::format("--moments must be from 1 to {}, not {}", RingTime::kMaxMoments,
                                 arguments.moments));
  const Result<Range> rounds = range_of("--rounds", arguments.rounds, RingTime::kMaxRounds);
  if (!rounds) return bad_usage(rounds.error());
  const RingTime ring(arguments.stations, arguments.range);
  const std::uint32_t highest = std::max(arguments.moments, 2U);
  const RingAnswer answer{.rounds = *rounds,
                          .distribution = ring.distribution(rounds->first, rounds->last),
                          .raw = ring.moments(highest),
                          .central = ring.central_moments(highest),
                          .productive = ring.productive_moments()};
  if (arguments.json)
    print_json(ring_json(arguments, ring, answer));
  else
    print_ring(arguments, ring, answer);
  return kDone;
}

int analyze_anonymous_ring(const AnalyzeAnonymousArguments& arguments) {
  if (arguments.stages < 1 || arguments.stages > analysis::kMaxStages)
    return bad_usage(fmt::format("--stages must be from 1 to {}, not {}", analysis::kMaxStages,
                                 arguments.stages));
  if (arguments.candidates < 2 || arguments.candidates > analysis::kMaxCandidates)
    return bad_usage(fmt::format("--candidates must be from 2 to {}, not {}",
                                 analysis::kMaxCandidates, arguments.candidates));
  if (arguments.stations > 1'000)
    return bad_usage(fmt::format("--stations must be from 1 to 1000, not {}", arguments.stations));
  const auto leaders = [&](std::uint32_t stages) {
    return analysis::all_elected(arguments.candidates, stages);
  };
  const Fraction bound = Fraction::power(Fraction{3, 4}, arguments.stages);
  const Fraction several = leaders(arguments.stages);
  if (arguments.json) {
    Json json = Json::object();
    json.add("stages", std::uint64_t{arguments.stages})
        .add("candidates", std::uint64_t{arguments.candidates})
        .add("two_leaders", value_json(number_of(several)))
        .add("bound", bound.nearest())
        .add("holds", several <= bound);
    if (arguments.stations > 0) {
      const std::uint32_t n = arguments.stations;
      const Fraction none = analysis::candidates_drawn(n, 0);
      const Fraction one = analysis::candidates_drawn(n, 1);
      json.add("stations", std::uint64_t{n})
          .add("no_candidate", value_json(number_of(none)))
          .add("one_candidate", value_json(number_of(one)))
          .add("several_candidates", value_json(number_of(Fraction{1} - none - one)))
          .add("mean_phases", value_json(number_of(analysis::mean_phases(n))));
    }
    print_json(json);
    return kDone;
  }
  print("{} candidates in step: probability that all of them are elected after k stages\n\n",
        arguments.candidates);
  std::vector<report::Bar> rows;
  for (std::uint32_t k = 1; k <= std::min(arguments.stages, 40U); ++k) {
    const double share = leaders(k).nearest();
    rows.push_back({fmt::format("{}", k), bar_value(share), share});
  }
  print("{}\n", report::bars(rows, stdout_width(), stdout_shows_unicode()));
  report::Table table({"what", "value"});
  table.row({fmt::format("after {} stages", arguments.stages), brief(number_of(several))});
  table.row(
      {"the paper's bound, (3/4)^k",
       fmt::format("{:.6g}{}", bound.nearest(), several <= bound ? "" : "  (does not hold)")});
  if (arguments.stations > 0) {
    const std::uint32_t n = arguments.stations;
    table.row({fmt::format("no candidate among {}", n),
               brief(number_of(analysis::candidates_drawn(n, 0)))});
    table.row({"exactly one", brief(number_of(analysis::candidates_drawn(n, 1)))});
    table.row({"phases, mean", brief(number_of(analysis::mean_phases(n)))});
  }
  print("{}", table.text({.unicode = stdout_shows_unicode()}));
  return kDone;
}

int analyze_collision(const AnalyzeCollisionArguments& arguments) {
  if (arguments.daemons < 1 || arguments.daemons > analysis::Collision::kMaxDaemons)
    return bad_usage(fmt::format("--daemons must be from 1 to {}, not {}",
                                 analysis::Collision::kMaxDaemons, arguments.daemons));
  const Result<Fraction> window = seconds_of(arguments.window, "--window");
  if (!window) return bad_usage(window.error());
  const Result<Fraction> width = seconds_of(arguments.width, "--width");
  if (!width) return bad_usage(width.error());
  if (width->zero()) return bad_usage("--width must be above 0");
  analysis::Collision question{.daemons = arguments.daemons, .window = *window, .width = *width};
  const Number p = number_of(collision(question));
  const Number bound = number_of(collision_bound(question));
  if (arguments.json) {
    print_json(Json::object()
                   .add("daemons", std::uint64_t{arguments.daemons})
                   .add("P", value_json(p))
                   .add("bound", bound.nearest));
    return kDone;
  }
  std::vector<report::Bar> rows;
  for (std::uint32_t n = 1; n < arguments.daemons; n *= 2) {
    question.daemons = n;
    const double share = collision(question).nearest();
    rows.push_back({fmt::format("{}", n), bar_value(share), share});
  }
  rows.push_back({fmt::format("{}", arguments.daemons), bar_value(p.nearest), p.nearest});
  print("daemons: probability that two of their timers expire within the window\n\n{}\n",
        report::bars(rows, stdout_width(), stdout_shows_unicode()));
  report::Table table({"what", "value"});
  table.row({"P", brief(p)});
  table.row({"bound, N window / width", brief(bound)});
  print("{}", table.text({.unicode = stdout_shows_unicode()}));
  return kDone;
}

int analyze_algorithm_c(const AnalyzeAlgorithmCArguments& arguments) {
  using analysis::AlgorithmC;
  const Result<Fraction> loss = Fraction::parse(arguments.loss);
  if (!loss || *loss >= Fraction{1})
    return bad_usage(fmt::format("--loss must be from 0 to below 1, such as 3/10 or 0.3, not '{}'",
                                 arguments.loss));
  const Result<Range> candidates =
      range_of("--candidates", arguments.candidates, AlgorithmC::kMaxCandidates);
  if (!candidates) return bad_usage(candidates.error());
  if (candidates->first == 0) return bad_usage("--candidates must begin with at least 1");
  const AlgorithmC chain(candidates->last, *loss);
  const std::uint32_t most_of_machine = std::min(candidates->last, papers::kMaxMachineCandidates);
  if (!arguments.json) {
    std::vector<report::Bar> rows;
    for (std::uint32_t a = candidates->first; a <= candidates->last; ++a) {
      const double rounds = chain.mean_rounds(a).nearest();
      rows.push_back({fmt::format("{}", a), fmt::format("{:.6f}", rounds), rounds});
    }
    print(
        "candidates: mean rounds of the paper's Markov chain of algorithm C, message loss "
        "probability {}\n\n{}",
        loss->text(), report::bars(rows, stdout_width(), stdout_shows_unicode()));
    for (std::uint32_t a = candidates->first; a <= most_of_machine; ++a)
      print(
          "{}The machine as printed takes {:.6f} rounds with {} candidate{}: one that hears "
          "nothing "
          "of a rival becomes master.\n",
          a == candidates->first ? "\n" : "", papers::machine_rounds(a, *loss).nearest(), a,
          a == 1 ? "" : "s");
    return kDone;
  }
  // Whole fractions, of any length.
  const auto exactly = [](Json json, const Fraction& value) {
    return json.add("fraction", value.text()).add("decimal", analysis::decimal(value));
  };
  Json rounds = Json::array();
  Json steps = Json::array();
  for (std::uint32_t a = candidates->first; a <= candidates->last; ++a) {
    rounds.push(exactly(Json::object().add("a", std::uint64_t{a}), chain.mean_rounds(a)));
    for (std::uint32_t j = 1; j <= a; ++j)
      steps.push(exactly(Json::object().add("i", std::uint64_t{a}).add("j", std::uint64_t{j}),
                         chain.step(a, j)));
  }
  Json machine = Json::array();
  for (std::uint32_t a = candidates->first; a <= most_of_machine; ++a)
    machine.push(
        exactly(Json::object().add("a", std::uint64_t{a}), papers::machine_rounds(a, *loss)));
  print_json(Json::object()
                 .add("loss", loss->text())
                 .add("E", rounds)
                 .add("P", steps)
                 .add("machine", machine));
  return kDone;
}

}  // namespace tempo::cli
