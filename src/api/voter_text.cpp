// Apart from control_protocol.cpp, which programs link with libtempo.a: they need no status texts.
#include <string>

#include <fmt/core.h>

#include "api/control_protocol.h"
#include "api/snapshot.h"

namespace tempo::ipc {

std::string silence_text(const VoterView& voter) {
  if (voter.state == "stopped") return "stopped";
  if (voter.state == "unknown") return "not heard yet";
  return "silent for " + (voter.heard_ago_s < 60 ? fmt::format("{:.0f} s", voter.heard_ago_s)
                                                 : obs::uptime_text(voter.heard_ago_s));
}

}  // namespace tempo::ipc
