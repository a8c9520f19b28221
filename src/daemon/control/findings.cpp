#include "daemon/control/findings.h"

#include <string>

#include <fmt/core.h>

namespace tempo::daemon {

std::vector<ipc::Finding> findings_in(const obs::Snapshot& shot) {
  std::vector<ipc::Finding> findings;
  for (const std::string& warning : shot.warnings)
    findings.push_back({.level = "problem", .what = warning, .cure = ""});
  if (shot.networks.empty())
    findings.push_back({.level = "problem",
                        .what = "tempod uses no network",
                        .cure = "bring an interface up, or set peers in tempo.toml"});
  if (shot.status == "unsynchronized")
    findings.push_back({.level = "note",
                        .what = "tempod has no network time yet",
                        .cure = "wait, or watch its progress with 'tempo watch'"});
  for (const obs::NetworkView& network : shot.networks)
    if (!network.kernel_stamps && !network.hardware_stamps)
      findings.push_back({.level = "note",
                          .what = fmt::format("{}: no kernel timestamps received", network.name),
                          .cure = "accuracy is reduced; no action is required"});
  return findings;
}

}  // namespace tempo::daemon
