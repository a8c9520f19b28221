// `tempo set-time`: sets the time of a whole network that has no better source.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/common/daemon.h"

namespace tempo::cli {

struct SetTimeArguments {
  DaemonArguments daemon;
  std::string by, to;
};

int set_time(const SetTimeArguments& arguments);

// "1.5s", "+250ms", "-2min".
Result<std::int64_t> parse_shift(const std::string& text);
// "2026-11-16 04:38:02", with 'T' or a blank, with or without a fraction of up to nine digits and a
// 'Z', always UTC; "@1700000000.5" in seconds since 1970.
Result<std::int64_t> parse_utc(const std::string& text);

}  // namespace tempo::cli
