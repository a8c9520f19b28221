// Result and TRY: errors that the environment can cause, such as bad input or a failed system call.
//
// A module lists its failures in a small enum, or returns a message where the operator reads it.
// TRY(name, expression) binds the value to `name`, or returns the failure from the calling
// function.
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
