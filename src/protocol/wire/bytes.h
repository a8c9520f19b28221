// Reader and Writer for big-endian numbers and bytes, used by all parsers and writers of datagrams.
//
// Both track their position in the buffer. A parser checks `left` before it takes bytes; taking or
// putting beyond the end fails a CHECK, so no byte outside the buffer is accessed.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/check.h"

namespace tempo::wire {

template <class T>
concept Number = std::integral<T> && !std::same_as<T, bool>;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t left() const { return bytes_.size(); }

  std::span<const std::byte> take_bytes(std::size_t count) {
    CHECK(count <= left());
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  template <Number T>
  T take() {
    using Unsigned = std::make_unsigned_t<T>;
    std::uint64_t value = 0;
    for (const std::byte byte : take_bytes(sizeof(T)))
      value = value << 8U | std::to_integer<std::uint64_t>(byte);
    return std::bit_cast<T>(static_cast<Unsigned>(value));
  }

 private:
  std::span<const std::byte> bytes_;
};

class Writer {
 public:
  explicit Writer(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::size_t written() const { return written_; }

  void put_bytes(std::span<const std::byte> bytes) {
    CHECK(bytes.size() <= bytes_.size() - written_);
    std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(written_));
    written_ += bytes.size();
  }

  template <Number T>
  void put(T value) {
    using Unsigned = std::make_unsigned_t<T>;
    const std::uint64_t bits = std::bit_cast<Unsigned>(value);
    CHECK(sizeof(T) <= bytes_.size() - written_);
    for (std::size_t i = sizeof(T); i-- > 0;)
      bytes_[written_++] = static_cast<std::byte>(bits >> (8 * i));
  }

 private:
  std::span<std::byte> bytes_;
  std::size_t written_ = 0;
};

}  // namespace tempo::wire
