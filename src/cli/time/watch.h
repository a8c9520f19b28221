// `tempo watch`: members, clocks, roles and events while they change.
#pragma once

#include <cstdint>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct WatchArguments {
  DaemonArguments daemon;
  bool plain = false;       // lines; always so when not on a terminal
  std::uint64_t lines = 0;  // plain: end after so many; 0: never
};

int watch(const WatchArguments& arguments);

}  // namespace tempo::cli
