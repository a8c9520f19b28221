// The delay of a message: one grammar, used by every simulation.
//
//     100us   uniform:a..b   exp:mean   normal:mean,sd   pareto:min,alpha
//
// `+` adds terms: `100us+exp:20us` is a wire with a queue. A sample is at least one nanosecond: no
// message arrives at the instant at which it was sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/units.h"

namespace tempo::sim {

class Delay {
 public:
  static Result<Delay> parse(std::string_view text);
  static Delay constant(Nanos span);
  static Delay uniform(Nanos low, Nanos high);

  Nanos sample(Stream& stream) const {
    if (terms_.size() != 1 || terms_[0].kind > Kind::uniform) return sample_terms(stream);
    const Term& term = terms_[0];
    if (term.kind == Kind::constant) return term.span;
    return std::max(Nanos{1},
                    term.span + Nanos{static_cast<Nanos::rep>(stream.unit() * term.first)});
  }

  Nanos mean() const;  // of the terms as written; ignores that negative samples become 0
  // Largest possible sample; Nanos::max(): unbounded.
  Nanos bound() const;
  const std::string& text() const { return text_; }

 private:
  enum class Kind : std::uint8_t { constant, uniform, exponential, normal, pareto };
  struct Term {
    Kind kind;
    Nanos span;     // constant: the delay; uniform: the lower end; otherwise unused
    double first;   // uniform: the width; otherwise the mean or minimum; nanoseconds
    double second;  // normal: standard deviation in nanoseconds; pareto: alpha
  };
  static constexpr std::size_t kMaxTerms = 8;

  static Result<Term> parse_term(std::string_view text);
  Nanos sample_terms(Stream& stream) const;

  std::vector<Term> terms_;
  std::string text_;
};

}  // namespace tempo::sim
