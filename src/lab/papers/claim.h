// A claim of a paper, what was predicted, what was measured, and the verdict.
//
// The verdict follows from the numbers by one of the rules below; nobody writes it by hand. A
// claim that is known to be false as printed is an erratum only if the run itself came upon what
// refutes it: else nothing was shown, and the verdict is that it disagrees.
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
std::string_view name_of(Paper paper);  // as on the command line
struct Citation {
  std::string_view authors, title, year;
};
const Citation& citation_of(Paper paper);

enum class Verdict : std::uint8_t { agrees, disagrees, erratum };
std::string_view name_of(Verdict verdict);

struct Claim {
  Paper paper = Paper::tempo;
  std::string section{};      // "7", "5.2, appendix"
  std::string says{};         // the sentence, in our words
  std::string prediction{};   // as text
  std::string measurement{};  // likewise
  std::string interval{};     // empty where there is none
  double predicted = report::kNoValue;
  Estimate measured{.value = report::kNoValue, .low = report::kNoValue, .high = report::kNoValue};
  Verdict verdict = Verdict::disagrees;
  std::string repair{};   // of an erratum: what is right
  std::string diagram{};  // id of the one that shows it, if there is one
};

// Where a claim is from, and what it says.
struct Saying {
  Paper paper;
  std::string section;
  std::string says;
};

// The interval contains what was predicted.
Claim equals(Saying saying, double predicted, const Estimate& measured);
// The same where the prediction is better known by another name, as "3/8".
Claim equals(Saying saying, double predicted, std::string name, const Estimate& measured);
// The whole interval is not above it.
Claim at_most(Saying saying, double bound, const Estimate& measured);
// The largest of all runs is not; with a unit, such as " ms".
Claim never_above(Saying saying, double bound, const Extremes& measured,
                  std::string_view unit = "");
// Every single run gave exactly this.
Claim always(Saying saying, double predicted, const Extremes& measured);
// It happened in none of the runs.
Claim never(Saying saying, std::uint64_t count, std::uint64_t runs);
// It does happen: what keeps a promise from being one, or a baseline from being good.
Claim happens(Saying saying, std::uint64_t count, std::uint64_t runs);
// Counts are distributed as predicted.
Claim distributed(Saying saying, const Distance& distance, std::uint64_t runs);
// Worked out twice: exact numbers as text are the same.
Claim same(Saying saying, std::string predicted, std::string computed);
// A search of all states: none breaks the promise, and the search was complete.
Claim holds_everywhere(Saying saying, bool complete, bool broken, std::uint64_t states);

// What is printed is not so. `found` says whether this run refutes it.
struct Refutation {
  std::string printed;  // what it would come to
  std::string seen;     // what it came to
  std::string repair;
  bool found = false;
  std::string diagram{};
  Estimate measured{.value = report::kNoValue, .low = report::kNoValue, .high = report::kNoValue};
};
Claim erratum(Saying saying, Refutation refutation);

// "paper,section,claim,prediction,measurement,low,high,runs,verdict", a line for each.
std::string claims_csv(const std::vector<Claim>& claims);

}  // namespace tempo::papers
