// Helpers for tests of the bytes of single sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protocol/wire/datagram.h"
#include "protocol/wire/datagram_test_samples.h"

namespace tempo::wire {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kFirst = kHeaderBytes + 2;  // offset of the body of the first section

// The bytes after the header.
inline std::string written(const Datagram& datagram) {
  std::string text;
  for (const std::byte byte : bytes_of(datagram)) text += static_cast<char>(byte);
  return text.substr(kHeaderBytes);
}

// The parser's error; Error::count: none.
inline Error error_of(std::span<const std::byte> bytes) {
  const auto parsed = parse(bytes);
  return parsed ? Error::count : parsed.error();
}

inline Bytes changed(const Datagram& datagram, std::size_t at, std::uint8_t value) {
  Bytes bytes = bytes_of(datagram);
  bytes.at(at) = std::byte{value};
  return bytes;
}
inline Error with_byte(const Datagram& datagram, std::size_t at, std::uint8_t value) {
  return error_of(changed(datagram, at, value));
}

}  // namespace tempo::wire
