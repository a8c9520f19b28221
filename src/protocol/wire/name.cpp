#include "protocol/wire/name.h"

#include <algorithm>

namespace tempo::wire {
namespace {

constexpr bool printable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

Name::Name(std::string_view text)
    : size_(static_cast<std::uint8_t>(std::min(text.size(), kMostName))) {
  std::ranges::transform(text.substr(0, size_), text_.begin(),
                         [](char c) { return printable(c) ? c : '?'; });
}

std::optional<Name> Name::read(std::span<const std::byte> bytes) {
  if (bytes.size() > kMostName) return std::nullopt;
  Name name;
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    if (!printable(c)) return std::nullopt;
    name.text_[name.size_++] = c;
  }
  return name;
}

}  // namespace tempo::wire
