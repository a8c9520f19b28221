#include "lab/papers/claim.h"

#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "base/display_text.h"

namespace tempo::papers {
namespace {

constexpr std::array<std::string_view, kPapers> kNames{"tempo", "ring", "archimedean", "capacity"};
constexpr std::array<Citation, kPapers> kCitations{
    {{"R. Gusella, S. Zatti",
      "An Election Algorithm for a Distributed Clock Synchronization Program", "1985"},
     {"J. Polajnar, T. Unkašević", "Equitable Probabilistic Elections in Ring Networks", "1994"},
     {"P. Spirakis, B. Tampakas",
      "Efficient Distributed Algorithms by Using the Archimedean Time Assumption", "1989"},
     {"C.-T. King, T. B. Gendreau, L. M. Ni", "Distributed Election in Computer Networks",
      "1988"}}};
constexpr std::array<std::string_view, 4> kVerdicts{"agrees", "disagrees", "erratum", "undecided"};

std::string number(double value) {
  if (!std::isfinite(value)) return "–";
  return fmt::format("{:.6g}", value);
}

std::string between(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) return {};
  return fmt::format("{:.4g} … {:.4g}", low, high);
}

std::string out_of(std::uint64_t count, std::uint64_t runs) {
  return fmt::format("{} of {}", report::grouped(count), report::grouped(runs));
}

Verdict verdict_of(bool agrees) { return agrees ? Verdict::agrees : Verdict::disagrees; }
Verdict verdict_of(std::uint64_t runs, bool agrees) {
  return runs == 0 ? Verdict::undecided : verdict_of(agrees);
}

Claim claim_of(Statement statement) {
  return {.paper = statement.paper,
          .section = std::move(statement.section),
          .says = std::move(statement.says)};
}

Claim measured_claim(Statement statement, double predicted, const Estimate& measured) {
  Claim claim = claim_of(std::move(statement));
  claim.predicted = predicted;
  claim.measured = measured;
  claim.measurement = number(measured.value);
  claim.interval = measured.runs == 1 ? "exact" : between(measured.low, measured.high);
  return claim;
}

Estimate estimate_of(const Extremes& extremes) {
  return {
      .value = extremes.most, .low = extremes.least, .high = extremes.most, .runs = extremes.runs};
}

}  // namespace

std::string_view name_of(Paper paper) { return kNames[static_cast<std::size_t>(paper)]; }
const Citation& citation_of(Paper paper) { return kCitations[static_cast<std::size_t>(paper)]; }
std::string_view name_of(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

Claim equals(Statement statement, double predicted, const Estimate& measured) {
  return equals(std::move(statement), predicted, number(predicted), measured);
}

Claim equals(Statement statement, double predicted, std::string name, const Estimate& measured) {
  Claim claim = measured_claim(std::move(statement), predicted, measured);
  claim.prediction = std::move(name);
  claim.verdict = verdict_of(measured.runs, measured.contains(predicted));
  return claim;
}

Claim at_most(Statement statement, double bound, const Estimate& measured) {
  Claim claim = measured_claim(std::move(statement), bound, measured);
  claim.prediction = "≤ " + number(bound);
  claim.verdict = measured.low <= bound && measured.high > bound
                      ? Verdict::undecided
                      : verdict_of(measured.runs, measured.high <= bound);
  return claim;
}

Claim never_above(Statement statement, double bound, const Extremes& measured,
                  std::string_view unit) {
  Claim claim = measured_claim(std::move(statement), bound, estimate_of(measured));
  claim.prediction = fmt::format("always ≤ {}{}", number(bound), unit);
  claim.measurement = fmt::format("at most {}{}", number(measured.most), unit);
  claim.interval = fmt::format("all of {}", report::grouped(measured.runs));
  claim.verdict = verdict_of(measured.runs, measured.most <= bound);
  return claim;
}

Claim always(Statement statement, double predicted, const Extremes& measured) {
  Claim claim = measured_claim(std::move(statement), predicted, estimate_of(measured));
  claim.prediction = number(predicted);
  const bool one = measured.least == measured.most;
  claim.measurement = one ? number(measured.most) : between(measured.least, measured.most);
  claim.interval = fmt::format("all of {}", report::grouped(measured.runs));
  claim.verdict = verdict_of(measured.runs, one && measured.most == predicted);
  return claim;
}

Claim never(Statement statement, std::uint64_t count, std::uint64_t runs) {
  Claim claim = measured_claim(std::move(statement), 0, proportion(count, runs));
  claim.prediction = "never";
  claim.measurement = out_of(count, runs);
  claim.verdict = verdict_of(runs, count == 0);
  return claim;
}

Claim happens(Statement statement, std::uint64_t count, std::uint64_t runs) {
  Claim claim = measured_claim(std::move(statement), report::kNoValue, proportion(count, runs));
  claim.prediction = "happens";
  claim.measurement = out_of(count, runs);
  claim.verdict = count > 0 ? Verdict::agrees : Verdict::undecided;
  return claim;
}

Claim distributed(Statement statement, const Distance& distance, std::uint64_t runs) {
  Claim claim = measured_claim(std::move(statement), distance.limit,
                               {.value = distance.chi_square,
                                .low = distance.chi_square,
                                .high = distance.chi_square,
                                .runs = runs});
  claim.prediction = fmt::format("χ² ≤ {}", number(distance.limit));
  claim.measurement = fmt::format("χ² = {}", number(distance.chi_square));
  claim.interval = fmt::format("{} degrees, {} runs", distance.freedom, report::grouped(runs));
  claim.verdict = verdict_of(runs, distance.chi_square <= distance.limit);
  return claim;
}

Claim same(Statement statement, std::string predicted, std::string computed) {
  Claim claim = claim_of(std::move(statement));
  claim.verdict = verdict_of(predicted == computed);
  claim.prediction = std::move(predicted);
  claim.measurement = std::move(computed);
  claim.interval = "exact";
  return claim;
}

Claim holds_everywhere(Statement statement, bool complete, bool broken, std::uint64_t states) {
  Claim claim = claim_of(std::move(statement));
  claim.prediction = "in every state";
  claim.measurement = broken ? "violated" : complete ? "in every state" : "incomplete search";
  claim.interval = fmt::format("{} states", report::grouped(states));
  claim.verdict = broken ? Verdict::disagrees : complete ? Verdict::agrees : Verdict::undecided;
  return claim;
}

Claim erratum(Statement statement, Refutation refutation) {
  Claim claim = claim_of(std::move(statement));
  claim.prediction = std::move(refutation.printed);
  claim.measurement = std::move(refutation.seen);
  claim.measured = refutation.measured;
  claim.interval = between(refutation.measured.low, refutation.measured.high);
  claim.repair = std::move(refutation.repair);
  claim.diagram = std::move(refutation.diagram);
  claim.verdict = refutation.found ? Verdict::erratum : Verdict::undecided;
  return claim;
}

std::string claims_csv(const std::vector<Claim>& claims) {
  using report::csv_field;
  using report::csv_number;
  std::string all =
      "paper,section,claim,prediction,measurement,predicted,measured,low,high,runs,verdict\n";
  for (const Claim& claim : claims)
    fmt::format_to(std::back_inserter(all), "{},{},{},{},{},{},{},{},{},{},{}\n",
                   name_of(claim.paper), csv_field(claim.section), csv_field(claim.says),
                   csv_field(claim.prediction), csv_field(claim.measurement),
                   csv_number(claim.predicted), csv_number(claim.measured.value),
                   csv_number(claim.measured.low), csv_number(claim.measured.high),
                   claim.measured.runs, name_of(claim.verdict));
  return all;
}

}  // namespace tempo::papers
