// `tempo status`: what this machine's tempod knows, for people, programs or Prometheus.
#pragma once

#include "cli/common/daemon.h"

namespace tempo::cli {

struct StatusArguments {
  DaemonArguments daemon;
  bool metrics = false;
};

int status(const StatusArguments& arguments);

}  // namespace tempo::cli
