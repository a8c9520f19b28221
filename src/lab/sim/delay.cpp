#include "lab/sim/delay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::sim {
namespace {

constexpr double kLongest = 1e18;  // longest sample in nanoseconds; cuts heavy tails

Nanos at_least_one(double nanos) {
  return Nanos{static_cast<Nanos::rep>(std::clamp(nanos, 1.0, kLongest))};
}

double count(Nanos span) { return static_cast<double>(span.count()); }

// Splits "a<separator>b" into its two parts.
Result<std::pair<std::string_view, std::string_view>> halves(std::string_view text,
                                                             std::string_view separator,
                                                             std::string_view form) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos)
    return std::unexpected(fmt::format("'{}' must have the form {}", text, form));
  return std::pair{text.substr(0, at), text.substr(at + separator.size())};
}

}  // namespace

Delay Delay::constant(Nanos span) {
  CHECK(span > Nanos{0});
  Delay delay;
  delay.terms_ = {{Kind::constant, span, 0, 0}};
  delay.text_ = span_text(span);
  return delay;
}

Delay Delay::uniform(Nanos low, Nanos high) {
  CHECK(low <= high && high > Nanos{0});
  Delay delay;
  delay.terms_ = {{Kind::uniform, low, count(high - low), 0}};
  delay.text_ = fmt::format("uniform:{}..{}", span_text(low), span_text(high));
  return delay;
}

Result<Delay> Delay::parse(std::string_view text) {
  Delay delay;
  delay.text_ = text;
  std::string_view rest = text;
  for (;;) {
    const std::size_t plus = rest.find('+');
    if (delay.terms_.size() == kMaxTerms)
      return std::unexpected(fmt::format("'{}' has more than {} terms", text, kMaxTerms));
    TRY(term, parse_term(rest.substr(0, plus)));
    delay.terms_.push_back(term);
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  if (delay.terms_.size() == 1 && delay.terms_[0].kind == Kind::constant &&
      delay.terms_[0].span < Nanos{1})
    return std::unexpected(std::string("a delay of zero is not allowed; write 1ns or more"));
  return delay;
}

Result<Delay::Term> Delay::parse_term(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    TRY(span, parse_span(text));
    return Term{Kind::constant, span, 0, 0};
  }
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (kind == "uniform") {
    TRY(ends, halves(rest, "..", "uniform:a..b"));
    TRY(low, parse_span(ends.first));
    TRY(high, parse_span(ends.second));
    if (high < low)
      return std::unexpected(fmt::format("'{}': the upper bound is below the lower bound", text));
    return Term{Kind::uniform, low, count(high - low), 0};
  }
  if (kind == "exp") {
    TRY(mean, parse_span(rest));
    return Term{Kind::exponential, {}, count(mean), 0};
  }
  if (kind == "normal") {
    TRY(parts, halves(rest, ",", "normal:mean,sd"));
    TRY(mean, parse_span(parts.first));
    TRY(deviation, parse_span(parts.second));
    return Term{Kind::normal, {}, count(mean), count(deviation)};
  }
  if (kind == "pareto") {
    TRY(parts, halves(rest, ",", "pareto:min,alpha"));
    TRY(minimum, parse_span(parts.first));
    double alpha = 0;
    const auto [end, failure] =
        std::from_chars(parts.second.data(), parts.second.data() + parts.second.size(), alpha);
    if (failure != std::errc{} || end != parts.second.data() + parts.second.size() ||
        !(alpha > 0) || alpha > 1000)
      return std::unexpected(fmt::format("'{}': alpha must be above 0 and at most 1000", text));
    return Term{Kind::pareto, {}, count(minimum), alpha};
  }
  return std::unexpected(
      fmt::format("'{}' is not a delay; use 100us, uniform:a..b, exp:mean, normal:mean,sd or "
                  "pareto:min,alpha, "
                  "or a sum of these with +",
                  text));
}

Nanos Delay::sample_terms(Stream& stream) const {
  double sum = 0;
  for (const Term& term : terms_) {
    switch (term.kind) {
      case Kind::constant:
        sum += count(term.span);
        break;
      case Kind::uniform:
        sum += count(term.span) + stream.unit() * term.first;
        break;
      case Kind::exponential:
        sum += stream.exponential(term.first);
        break;
      case Kind::normal:
        sum += std::max(0.0, stream.normal(term.first, term.second));
        break;
      case Kind::pareto:
        sum += stream.pareto(term.first, term.second);
        break;
    }
  }
  return at_least_one(sum);
}

Nanos Delay::mean() const {
  double sum = 0;
  for (const Term& term : terms_) {
    switch (term.kind) {
      case Kind::constant:
        sum += count(term.span);
        break;
      case Kind::uniform:
        sum += count(term.span) + term.first / 2;
        break;
      case Kind::exponential:
      case Kind::normal:
        sum += term.first;
        break;
      case Kind::pareto:
        sum += term.second > 1 ? term.first * term.second / (term.second - 1) : kLongest;
        break;
    }
  }
  return at_least_one(sum);
}

Nanos Delay::bound() const {
  double sum = 0;
  for (const Term& term : terms_) {
    if (term.kind != Kind::constant && term.kind != Kind::uniform) return Nanos::max();
    sum += count(term.span) + term.first;
  }
  return at_least_one(sum);
}

}  // namespace tempo::sim
