// `tempo sim replay`: what a check has found, played again; a trace, drawn.
//
// A script is played in the simulator and must end as it says. A trace, of a simulation or of a
// tempod (`tempo trace follow`), is read as it is.
#pragma once

#include <string>

namespace tempo::cli {

struct ReplayArguments {
  std::string file{};
  bool trace = false;
  std::string diagram{};  // a file, or - for the terminal
  bool json = false;
};

int sim_replay(const ReplayArguments& arguments);

}  // namespace tempo::cli
