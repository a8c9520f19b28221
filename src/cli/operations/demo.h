// `tempo demo`: real daemons on this machine, shown while they find each other, agree, lose their
// master and elect another.
//
// Nothing of the machine is touched: ordinary processes on the loopback network, each with a
// software clock of its own that is off and drifts. Nothing is left behind, however it ends.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

struct DemoArguments {
  std::uint32_t machines = 5;  // 3 to 9
  double seconds = 24;
  std::uint16_t port = 15250;
  std::string profile = "lan";
  std::string tempod;  // empty: beside this program
  bool plain = false;  // lines instead of a moving picture; always so when not on a terminal
  bool json = false;   // nothing but a summary, at the end
};

int demo(const DemoArguments& arguments);

}  // namespace tempo::cli
