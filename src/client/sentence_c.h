// How failures reach programs in C.
#pragma once

#include <algorithm>
#include <string_view>

#include "tempo/error.h"
#include "tempo/error_c.h"

namespace tempo {

// Cut to `size` bytes with its end; nothing if there is no place for it.
inline void copy_sentence(std::string_view sentence, char* into, unsigned size) {
  if (into != nullptr && size > 0) *std::ranges::copy(sentence.substr(0, size - 1), into).out = 0;
}

inline void copy_failure(const Error& error, tempo_error* why, char* into, unsigned size) {
  static_assert(static_cast<int>(ErrorCode::cancelled) == TEMPO_CANCELLED);
  copy_sentence(error.sentence, into, size);
  if (why != nullptr) *why = static_cast<tempo_error>(error.code);
}

}  // namespace tempo
