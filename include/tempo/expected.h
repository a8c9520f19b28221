// libtempo: a value, or why there is none.
//
// What std::expected is to C++23, as far as libtempo's faces need it, for programs in C++17. It
// holds one of the two, always; `*` and `->` are for who has looked that there is a value.
#pragma once

#include <utility>
#include <variant>

namespace tempo {

// Why there is none: `return tempo::Unexpected{failure}`.
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
  Expected(Unexpected<E> why)  // NOLINT: as std::expected
      : content_(std::in_place_index<1>, std::move(why.error)) {}

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
