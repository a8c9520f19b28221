// Text helpers for reports: width on a terminal, HTML escapes, rounded durations and numbers.
//
// Text is UTF-8. The width is the number of terminal columns: 0 for a combining mark, 2 for a
// character of an East Asian script and for most pictographs, 1 for any other code point and for
// each byte that is not UTF-8.
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

// Width of the text on a terminal, in columns.
std::size_t display_width(std::string_view text);

// The text shortened to at most `width` columns; the mark replaces the removed end.
std::string clipped(std::string_view text, std::size_t width, std::string_view mark = "…");

// The text escaped for HTML text and double-quoted attributes. Control characters become spaces.
std::string escaped(std::string_view text);

// A duration rounded to three digits: "2.4s", "150us", "12.3ms". span_text is exact.
std::string brief_span(Nanos span);

// A number with its digits in groups of three: "1,234,567".
std::string grouped(std::uint64_t number);

// Appends the result of fmt::format.
template <class... Values>
void put(std::string& to, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(to), format, std::forward<Values>(values)...);
}

}  // namespace tempo::report
