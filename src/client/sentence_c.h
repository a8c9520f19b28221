// How failures reach programs in C.
#pragma once

#include <algorithm>
#include <string_view>

#include "tempo/failure.h"
#include "tempo/trouble_c.h"

namespace tempo {

// Cut to `size` bytes with its end; nothing if there is no place for it.
inline void copy_sentence(std::string_view sentence, char* into, unsigned size) {
  if (into != nullptr && size > 0) *std::ranges::copy(sentence.substr(0, size - 1), into).out = 0;
}

inline void copy_failure(const Failure& failure, tempo_trouble* why, char* into, unsigned size) {
  static_assert(static_cast<int>(Trouble::cancelled) == TEMPO_CANCELLED);
  copy_sentence(failure.sentence, into, size);
  if (why != nullptr) *why = static_cast<tempo_trouble>(failure.trouble);
}

}  // namespace tempo
