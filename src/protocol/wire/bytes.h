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
#include <cstring>
#include <span>

#include "base/check.h"

namespace tempo::wire {

template <class T>
concept Number = std::integral<T> && !std::same_as<T, bool>;

// Between the order of the machine and that of the wire, in both directions.
template <Number T>
T big_endian(T value) {
  if constexpr (std::endian::native == std::endian::little)
    return std::byteswap(value);
  else
    return value;
}

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
    T value;
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return big_endian(value);
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
    CHECK(sizeof(T) <= bytes_.size() - written_);
    value = big_endian(value);
    std::memcpy(bytes_.data() + written_, &value, sizeof(T));
    written_ += sizeof(T);
  }

 private:
  std::span<std::byte> bytes_;
  std::size_t written_ = 0;
};

}  // namespace tempo::wire
