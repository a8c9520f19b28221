// Parses a text that consists of exactly one number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tempo {

// The number; empty if the text holds anything else or the number does not fit its type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace tempo
