// `tempo watch`: members, clocks, roles and events while they change.
#pragma once

#include <cstdint>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct WatchArguments {
  DaemonArguments daemon;
  bool plain = false;       // lines instead of a screen; always so if there is no terminal
  std::uint64_t lines = 0;  // plain: stop after this many lines; 0: never
};

int watch(const WatchArguments& arguments);

}  // namespace tempo::cli
