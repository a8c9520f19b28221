// FieldReader and FieldWriter: one list of fields reads and writes the body of a section.
//
// A body lists its fields once, in the order of the tables in doc/reference/wire.md:
//
//     template <class Self, class Io>
//     static void layout(Self& self, Io& io) {
//       io.fixed(kFixedBytes);               // bytes before the first list or text
//       io.kind(self.kind, kKinds);          // one byte
//       io.flags(self.shared, self.held);    // one byte, the first flag in its lowest bit
//       const auto name = io.length(self.name);
//       io(self.view, self.ballot);          // numbers, ids, spans, bodies
//       io.text(self.name, name);
//     }
//
// The reader stops at the first error; it skips trailing bytes. The writer clamps a number to its
// range. A body that this host may not send fails a CHECK.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "base/units.h"
#include "protocol/wire/bytes.h"
#include "protocol/wire/error.h"

namespace tempo::wire {

class FieldReader {
 public:
  explicit FieldReader(Reader in) : in_(in) {}

  std::optional<Error> error() const { return failed() ? std::optional(error_) : std::nullopt; }

  void fixed(std::size_t bytes) { expect(in_.left() >= bytes, Error::bad_section); }
  // A condition on what was read; a writer does not check it.
  void expect(bool holds, Error error) {
    if (!holds && !failed()) error_ = error;
  }

  template <class... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }
  template <class T>
  void constant(T /*value*/) {  // a reader ignores it
    take<T>();
  }
  template <class Kind>
  void kind(Kind& kind, std::uint8_t kinds) {
    const auto number = take<std::uint8_t>();
    expect(number < kinds, Error::bad_kind);
    kind = static_cast<Kind>(number);
  }
  void flags(std::same_as<bool> auto&... flags) {
    unsigned bits = take<std::uint8_t>();
    ((flags = bits % 2 != 0, bits /= 2), ...);
  }
  void below(std::uint8_t& field, std::uint8_t limit) {
    (*this)(field);
    expect(field < limit, Error::bad_value);
  }
  void not_zero(std::uint32_t& field) {
    (*this)(field);
    expect(field != 0, Error::bad_value);
  }
  template <class T>
  void range(T& field, std::type_identity_t<T> low, std::type_identity_t<T> high) {
    (*this)(field);
    expect(field >= low && field <= high, Error::bad_value);
  }
  void not_negative(Nanos& span) {
    (*this)(span);
    expect(span >= Nanos{0} && span.count() <= kMaxNanos, Error::bad_value);
  }
  // A field that `encode` and `decode` map to a shorter one.
  void coded(auto& field, auto encode, auto decode) {
    field = decode(take<decltype(encode(field))>());
  }
  template <std::size_t kBytes>
  void bytes(std::array<std::byte, kBytes>& bytes) {
    std::ranges::copy(take_bytes(kBytes), bytes.begin());
  }

  // The length of a list or text, which follows later.
  std::uint8_t length(const auto& /*list*/) { return take<std::uint8_t>(); }
  void list(auto& list, std::uint8_t length) {
    for (std::uint8_t i = 0; i < length && !failed(); ++i) {
      std::remove_cvref_t<decltype(list[0])> item{};
      (*this)(item);
      expect(!list.full(), Error::bad_section);
      if (!failed()) list.push_back(item);
    }
  }
  void text(auto& text, std::uint8_t length) { read(text, length, Error::bad_name); }
  void name(auto& text, std::uint8_t length) {  // not empty
    expect(length > 0, Error::bad_section);
    read(text, length, Error::bad_name);
  }
  void rest(auto& text, Error not_printable) { read(text, in_.left(), not_printable); }

 private:
  bool failed() const { return error_ != Error::count; }
  std::span<const std::byte> take_bytes(std::size_t count) {
    expect(in_.left() >= count, Error::bad_section);
    return failed() ? std::span<const std::byte>() : in_.take_bytes(count);
  }
  template <Number T>
  T take() {
    expect(in_.left() >= sizeof(T), Error::bad_section);
    return failed() ? T{} : in_.take<T>();
  }
  template <class T>
  void field(T& field) {
    if constexpr (Number<T>)
      field = take<T>();
    else if constexpr (std::is_enum_v<T>)
      field = T{take<std::underlying_type_t<T>>()};
    else if constexpr (std::same_as<T, Nanos>)
      field = Nanos{take<std::int64_t>()};
    else
      T::layout(field, *this);
  }
  template <class Text>
  void read(Text& text, std::size_t length, Error not_printable) {
    const std::optional<Text> read = Text::read(take_bytes(length));
    expect(read.has_value(), not_printable);
    if (read) text = *read;
  }

  Reader in_;
  Error error_ = Error::count;  // the first one; count: none
};

// The functions have the meaning of their namesakes in FieldReader.
class FieldWriter {
 public:
  explicit FieldWriter(Writer& out) : out_(&out) {}

  void fixed(std::size_t /*bytes*/) {}
  void expect(bool /*holds*/, Error /*error*/) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (field(fields), ...);
  }
  void constant(Number auto value) { out_->put(value); }
  template <class Kind>
  void kind(const Kind& kind, std::uint8_t kinds) {
    const auto number = static_cast<std::uint8_t>(kind);
    CHECK(number < kinds);
    out_->put(number);
  }
  void flags(const std::same_as<bool> auto&... flags) {
    unsigned bits = 0;
    unsigned bit = 1;
    ((bits |= flags ? bit : 0U, bit *= 2), ...);
    out_->put(static_cast<std::uint8_t>(bits));
  }
  void below(const std::uint8_t& field, std::uint8_t limit) {
    CHECK(field < limit);
    out_->put(field);
  }
  void not_zero(const std::uint32_t& field) {
    CHECK(field != 0);
    out_->put(field);
  }
  template <class T>
  void range(const T& field, std::type_identity_t<T> low, std::type_identity_t<T> high) {
    out_->put(std::clamp(field, low, high));
  }
  void not_negative(const Nanos& span) {
    CHECK(span >= Nanos{0});
    out_->put(std::min<std::int64_t>(span.count(), kMaxNanos));
  }
  void coded(const auto& field, auto encode, auto /*decode*/) { out_->put(encode(field)); }
  template <std::size_t kBytes>
  void bytes(const std::array<std::byte, kBytes>& bytes) {
    out_->put_bytes(bytes);
  }

  std::uint8_t length(const auto& list) {
    const auto length = static_cast<std::uint8_t>(list.size());
    out_->put(length);
    return length;
  }
  void list(const auto& list, std::uint8_t /*length*/) {
    for (const auto& item : list) (*this)(item);
  }
  void text(const auto& text, std::uint8_t /*length*/) {
    out_->put_bytes(std::as_bytes(std::span(text.text())));
  }
  void name(const auto& text, std::uint8_t length) {
    CHECK(length > 0);
    this->text(text, length);
  }
  void rest(const auto& text, Error /*not_printable*/) { this->text(text, 0); }

 private:
  template <class T>
  void field(const T& field) {
    if constexpr (Number<T>)
      out_->put(field);
    else if constexpr (std::is_enum_v<T>)
      out_->put(std::to_underlying(field));
    else if constexpr (std::same_as<T, Nanos>)
      out_->put(std::int64_t{field.count()});
    else
      T::layout(field, *this);
  }

  Writer* out_;
};

template <class Body>
Result<Body, Error> read_body(Reader in) {
  Body body{};
  FieldReader io(in);
  io(body);
  if (const auto error = io.error()) return std::unexpected(*error);
  return body;
}

template <class Body>
void write_body(Writer& out, const Body& body) {
  FieldWriter io(out);
  io(body);
}

}  // namespace tempo::wire
