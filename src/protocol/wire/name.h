// A host's name as datagrams of either version carry it: short, printable, without allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tempo::wire {

inline constexpr std::size_t kMostName = 63;

class Name {
 public:
  Name() = default;
  // Cut to kMostName characters; anything but printable ASCII becomes '?'.
  explicit Name(std::string_view text);
  // Nothing, if it is too long or not printable.
  static std::optional<Name> read(std::span<const std::byte> bytes);

  std::string_view text() const { return {text_.data(), size_}; }
  bool operator==(const Name& other) const { return text() == other.text(); }

 private:
  std::array<char, kMostName> text_{};
  std::uint8_t size_ = 0;
};

}  // namespace tempo::wire
