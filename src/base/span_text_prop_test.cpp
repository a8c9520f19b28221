#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/span_text.h"

namespace tempo {
namespace {

// parse_span reads back the text of span_text, exact to the nanosecond.
RC_GTEST_PROP(SpanTextProperty, RoundTrips, (std::uint32_t number, std::uint8_t zeros)) {
  std::int64_t nanos = number;
  for (int i = 0; i < zeros % 8; ++i) nanos *= 10;
  const auto read = parse_span(span_text(Nanos{nanos}));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == Nanos{nanos});
}

// parse_span accepts any text or refuses it with an error message.
RC_GTEST_PROP(SpanTextProperty, SurvivesAnyText, (const std::string& text)) {
  const auto span = parse_span(text);
  if (span.has_value())
    RC_ASSERT(*span >= Nanos{0});
  else
    RC_ASSERT(!span.error().empty());
}

}  // namespace
}  // namespace tempo
