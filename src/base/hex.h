// Bytes as hexadecimal text, with an optional separator.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tempo {

inline std::string hex(std::span<const std::byte> bytes, std::string_view between = "") {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    if (!text.empty()) text += between;
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace tempo
