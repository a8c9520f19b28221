// Small files that are replaced as a whole: a crash leaves the old one or the new one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tempo::sys {

// It is on disk when this returns.
Result<void> replace_file(const std::string& path, std::string_view text);

// At most so many bytes of it; empty if it cannot be read.
std::string read_file(const std::string& path, std::size_t most);

}  // namespace tempo::sys
