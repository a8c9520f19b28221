// Short texts in datagrams: printable ASCII, stored inline.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/wire/error.h"

namespace tempo::wire {

template <std::size_t kMax>
class Text {
  static_assert(kMax <= 255, "lengths on the wire are bytes");

 public:
  Text() = default;
  // Cut to kMax characters; anything but printable ASCII becomes '?'.
  explicit Text(std::string_view text)
      : size_(static_cast<std::uint8_t>(std::min(text.size(), kMax))) {
    std::ranges::transform(text.substr(0, size_), text_.begin(),
                           [](char c) { return printable(c) ? c : '?'; });
  }
  // nullopt: too long, or not printable.
  static std::optional<Text> read(std::span<const std::byte> bytes) {
    if (bytes.size() > kMax) return std::nullopt;
    Text read;
    for (const std::byte byte : bytes) {
      const char c = static_cast<char>(byte);
      if (!printable(c)) return std::nullopt;
      read.text_[read.size_++] = c;
    }
    return read;
  }

  std::string_view text() const { return {text_.data(), size_}; }
  std::size_t size() const { return size_; }
  bool operator==(const Text& other) const { return text() == other.text(); }

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.rest(self, Error::bad_name);
  }

 private:
  static constexpr bool printable(char c) { return c >= ' ' && c <= '~'; }

  std::array<char, kMax> text_{};
  std::uint8_t size_ = 0;
};

inline constexpr std::size_t kMaxName = 63;
using Name = Text<kMaxName>;  // of a host

}  // namespace tempo::wire
