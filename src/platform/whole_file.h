// Small files that are replaced atomically: after a crash the old or the new contents are there.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tempo::sys {

// The contents are on disk when this returns.
Result<void> replace_file(const std::string& path, std::string_view text);

// Reads at most `most` bytes; empty if the file cannot be read.
std::string read_file(const std::string& path, std::size_t most);

}  // namespace tempo::sys
