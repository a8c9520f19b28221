// Spans of time as people write them: `250ms`, `1.5s`, `100us`, `3ns`, `2min`, `0`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace tempo {

// A number with a unit (ns, us, ms, s, min, h); a bare 0 needs none. Not negative, at most ten
// years, not finer than a nanosecond. The failure is a sentence that says what would be right.
Result<Nanos> parse_span(std::string_view text);

// Exact text that parse_span reads back, in the largest unit up to a second: `250ms`, `1.5s`, `0s`.
// Not for negative spans.
std::string span_text(Nanos span);

// "1500.25": milliseconds without needless zeros, as traces have them. Not for negative spans.
std::string milliseconds_text(Nanos span);

}  // namespace tempo
