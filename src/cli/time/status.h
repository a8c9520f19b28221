// `tempo status`: the state of this machine's tempod as text, JSON or Prometheus metrics.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct StatusArguments {
  DaemonArguments daemon;
  bool metrics = false;  // Prometheus text format
  std::string output{};  // file for the metrics; empty: standard output
};

int status(const StatusArguments& arguments);

}  // namespace tempo::cli
