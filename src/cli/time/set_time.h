// `tempo set-time`: sets the time of a network that has no better source.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/common/daemon.h"

namespace tempo::cli {

struct SetTimeArguments {
  DaemonArguments daemon;
  std::string by;    // offset to add; empty: `to` is given
  std::string to;    // absolute time; empty: `by` is given
  bool yes = false;  // do not ask for confirmation
};

int set_time(const SetTimeArguments& arguments);

// Nanoseconds of "1.5s", "+250ms", "-2min".
Result<std::int64_t> parse_set_offset(const std::string& text);
// UTC in nanoseconds since 1970 from "2026-11-16 04:38:02" (with 'T' or a blank, a fraction of up
// to nine digits, a 'Z' at the end) or "@1700000000.5" (seconds since 1970).
Result<std::int64_t> parse_utc(const std::string& text);

}  // namespace tempo::cli
