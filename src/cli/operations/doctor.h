// `tempo doctor`: finds problems of this machine's clock, network and configuration, with cures.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct DoctorArguments {
  DaemonArguments daemon;
  std::string config = "/etc/tempo/tempo.toml";
  bool all = false;  // include the findings of all other members
};

int doctor(const DoctorArguments& arguments);

}  // namespace tempo::cli
