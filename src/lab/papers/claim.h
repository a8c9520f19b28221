// A claim of a paper: its prediction, its measurement, and the verdict.
//
// The verdict follows from the numbers by one of the rules below; it is never written by hand.
// Where the run was too small to show the claim or its opposite, the verdict is `undecided`. A
// claim that is known to be false as printed is an erratum only if this run found a refutation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/papers/statistics.h"
#include "lab/report/chart.h"

namespace tempo::papers {

enum class Paper : std::uint8_t { tempo, ring, archimedean, capacity };
inline constexpr std::size_t kPapers = 4;
std::string_view name_of(Paper paper);  // name on the command line
struct Citation {
  std::string_view authors, title, year;
};
const Citation& citation_of(Paper paper);

enum class Verdict : std::uint8_t { agrees, disagrees, erratum, undecided };
std::string_view name_of(Verdict verdict);

struct Claim {
  Paper paper = Paper::tempo;
  std::string section{};      // "7", "5.2, appendix"
  std::string says{};         // the statement, in our words
  std::string prediction{};   // as text
  std::string measurement{};  // as text
  std::string interval{};     // empty: none
  double predicted = report::kNoValue;
  Estimate measured{.value = report::kNoValue, .low = report::kNoValue, .high = report::kNoValue};
  Verdict verdict = Verdict::undecided;
  std::string repair{};   // erratum: the correct statement
  std::string diagram{};  // id of the diagram that shows it; empty: none
};

// Source and text of a claim.
struct Statement {
  Paper paper;
  std::string section;
  std::string says;
};

// Every rule: undecided if there was no run.
//
// Agrees if the interval contains the predicted value.
Claim equals(Statement statement, double predicted, const Estimate& measured);
// The same, with another text for the prediction, such as "3/8".
Claim equals(Statement statement, double predicted, std::string name, const Estimate& measured);
// Agrees if the whole interval is at or below the bound, disagrees if it is above it.
Claim at_most(Statement statement, double bound, const Estimate& measured);
// Agrees if the largest value of all runs is at or below the bound; with a unit, such as " ms".
Claim never_above(Statement statement, double bound, const Extremes& measured,
                  std::string_view unit = "");
// Agrees if every run gave exactly this value.
Claim always(Statement statement, double predicted, const Extremes& measured);
// Agrees if it happened in none of the runs.
Claim never(Statement statement, std::uint64_t count, std::uint64_t runs);
// Agrees if it happened at least once: the failure of a violated condition or of a baseline.
// Otherwise undecided: more runs could show it.
Claim happens(Statement statement, std::uint64_t count, std::uint64_t runs);
// Agrees if the counts have the predicted distribution.
Claim distributed(Statement statement, const Distance& distance, std::uint64_t runs);
// Agrees if two exact values, as text, are equal.
Claim same(Statement statement, std::string predicted, std::string computed);
// Agrees if the search was complete and no state violates the property, disagrees if one does.
Claim holds_everywhere(Statement statement, bool complete, bool broken, std::uint64_t states);

// A printed statement that is false. `found` says whether this run refutes it; if not, the claim is
// undecided.
struct Refutation {
  std::string printed;  // the consequence of the printed statement
  std::string seen;     // the observed result
  std::string repair;
  bool found = false;
  std::string diagram{};
  Estimate measured{.value = report::kNoValue, .low = report::kNoValue, .high = report::kNoValue};
};
Claim erratum(Statement statement, Refutation refutation);

// "paper,section,claim,prediction,measurement,low,high,runs,verdict", one line per claim.
std::string claims_csv(const std::vector<Claim>& claims);

}  // namespace tempo::papers
