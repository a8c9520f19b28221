// Small text helpers of the reports: width on a terminal, escapes for HTML, spans and numbers for
// the eye.
//
// Text is UTF-8. Width counts code points: none for combining marks, two for what East Asian
// scripts and most pictographs take. Bytes that are not UTF-8 count as one each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/units.h"

namespace tempo::report {

// Columns the text takes on a terminal.
std::size_t display_width(std::string_view text);

// At most this many columns; what is cut off is replaced by the mark.
std::string clipped(std::string_view text, std::size_t width, std::string_view mark = "…");

// Safe as HTML text and as an attribute in double quotes. Control characters become spaces.
std::string escaped(std::string_view text);

// Rounded to three digits: "2.4s", "150us", "12.3ms". For reading; span_text is exact.
std::string brief_span(Nanos span);

// "1,234,567".
std::string grouped(std::uint64_t number);

// Appends what fmt::format would give.
template <class... Values>
void put(std::string& to, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(to), format, std::forward<Values>(values)...);
}

}  // namespace tempo::report
