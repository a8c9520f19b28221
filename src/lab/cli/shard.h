// The option --shard: one part of several of the work, such as 2/4.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/cli/sweep/share.h"

namespace tempo::cli {

using Shard = sweep::Share;

// An empty text means everything.
Result<Shard> shard_of(const std::string& text);

}  // namespace tempo::cli
