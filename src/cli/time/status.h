// `tempo status`: the state of this machine's tempod as text, JSON or Prometheus metrics.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

struct StatusArguments {
  DaemonArguments daemon;
  bool metrics = false;  // Prometheus text format
};

int status(const StatusArguments& arguments);

}  // namespace tempo::cli
