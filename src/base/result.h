// Result and TRY: for what the world may do to us.
//
// A module names its failures in a small enum (or, at the operator's border, in a sentence) and
// returns Result<T, Failure>. TRY reads like a `let`: it binds the value or returns the failure.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace tempo {

template <class T, class Failure = std::string>
using Result = std::expected<T, Failure>;

}  // namespace tempo

#define TRY(name, expression)                                                           \
  auto name##_or_failure = (expression);                                                \
  if (!name##_or_failure) return std::unexpected(std::move(name##_or_failure).error()); \
  auto name = *std::move(name##_or_failure)
