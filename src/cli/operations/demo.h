// `tempo demo`: runs real daemons on this machine and shows how they find each other, agree on the
// time, lose their master and elect another.
//
// The daemons are ordinary processes on the loopback network. Each steers a software clock that
// starts with an offset and drifts; the clock of the machine is not changed. The demo leaves no
// process and no file behind, however it ends.
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

struct DemoArguments {
  std::uint32_t machines = 5;  // 3 to 9
  double seconds = 0;          // duration; 0: 24, with `web` 3600
  std::uint16_t port = 15250;
  std::string profile = "lan";
  std::string tempod;  // empty: the tempod beside this program
  bool plain = false;  // lines instead of a screen; always so if there is no terminal
  bool web = false;    // serves the page of tempo-web
  bool json = false;   // only a summary
};

int demo(const DemoArguments& arguments);

}  // namespace tempo::cli
