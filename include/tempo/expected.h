// libtempo: a value or an error.
//
// A subset of C++23's std::expected for programs in C++17. It always holds exactly one of the two.
// Check with `has_value` or `if (expected)` before `*`, `->` and `error`.
#pragma once

#include <utility>
#include <variant>

namespace tempo {

// Wraps an error: `return tempo::Unexpected{error}`.
template <class E>
struct Unexpected {
  E error;
};
template <class E>
Unexpected(E) -> Unexpected<E>;

template <class T, class E>
class [[nodiscard]] Expected {
 public:
  Expected(T value)  // NOLINT: as std::expected
      : content_(std::in_place_index<0>, std::move(value)) {}
  Expected(Unexpected<E> unexpected)  // NOLINT: as std::expected
      : content_(std::in_place_index<1>, std::move(unexpected.error)) {}

  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& operator*() & { return *std::get_if<0>(&content_); }
  const T& operator*() const& { return *std::get_if<0>(&content_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&content_)); }
  T* operator->() { return std::get_if<0>(&content_); }
  const T* operator->() const { return std::get_if<0>(&content_); }
  const E& error() const { return *std::get_if<1>(&content_); }

 private:
  std::variant<T, E> content_;
};

}  // namespace tempo
