// Durations as text: `250ms`, `1.5s`, `100us`, `3ns`, `2min`, `5` (seconds).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace tempo {

// Parses a number with a unit (ns, us, ms, s, min, h); without a unit it counts seconds. It must
// not be negative, longer than ten years or finer than a nanosecond. The error is a sentence for
// the user.
Result<Nanos> parse_span(std::string_view text);

// The exact text that parse_span reads back, in the largest unit up to a second: `250ms`, `1.5s`,
// `0s`. The duration must not be negative.
std::string span_text(Nanos span);

// Milliseconds without trailing zeros, the format of traces: "1500.25". The duration must not be
// negative.
std::string milliseconds_text(Nanos span);

}  // namespace tempo
