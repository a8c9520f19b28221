// Copies errors to the outputs of the C functions.
#pragma once

#include <algorithm>

#include "tempo/error.h"
#include "tempo/error_c.h"

namespace tempo {

// `code` and `message` may be null. The message is cut to `size` bytes with its terminating 0.
inline void copy_error(const Error& error, tempo_error* code, char* message, unsigned size) {
  static_assert(static_cast<int>(ErrorCode::cancelled) == TEMPO_ERROR_CANCELLED);
  static_assert(static_cast<int>(ErrorCode::bad_request) == TEMPO_ERROR_BAD_REQUEST);
  if (code != nullptr) *code = static_cast<tempo_error>(error.code);
  if (message != nullptr && size > 0)
    *std::ranges::copy(error.message.substr(0, size - 1), message).out = 0;
}

}  // namespace tempo
