// One part of several of an order, as typed: 2/4.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/sweep/share.h"

namespace tempo::cli {

using Shard = sweep::Share;

// Empty: everything.
Result<Shard> shard_of(const std::string& text);

}  // namespace tempo::cli
