// `tempo doctor`: looks for what keeps clocks from agreeing here, and says what to do about it.
#pragma once

#include <string>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct DoctorArguments {
  DaemonArguments daemon;
  std::string config = "/etc/tempo/tempo.toml";
  bool all = false;  // what every member's tempod finds, too
};

int doctor(const DoctorArguments& arguments);

}  // namespace tempo::cli
