// How sentences reach programs in C.
#pragma once

#include <string_view>

#include <fmt/format.h>

namespace tempo {

// Cut to `size` bytes with its end; nothing if there is no place for it.
inline void copy_sentence(std::string_view sentence, char* into, unsigned size) {
  if (into != nullptr && size > 0) *fmt::format_to_n(into, size - 1, "{}", sentence).out = 0;
}

}  // namespace tempo
