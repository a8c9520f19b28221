#include "daemon/control/findings.h"

#include <string>

#include <fmt/core.h>

#include "api/key_report.h"

namespace tempo::daemon {
namespace {

constexpr double kLongKeyChange_s = 3600;  // a key change that takes longer is forgotten

void add_key_findings(const obs::Snapshot& shot, std::vector<ipc::Finding>& findings) {
  const obs::KeyReport report = obs::key_report(shot, std::nullopt);
  if (report.next == obs::KeyStep::none) return;
  const bool stuck = !shot.key_change.empty() && shot.keys_since_s > kLongKeyChange_s;
  findings.push_back(
      {.level = stuck ? "problem" : "note",
       .what = stuck ? fmt::format("a key change is stuck half way for {}: {}",
                                   obs::uptime_text(shot.keys_since_s), report.text)
                     : "a key change is in progress: " + report.text,
       .cure = "take the next step on every machine; 'tempo keys' shows which have taken it"});
}

}  // namespace

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
  add_key_findings(shot, findings);
  return findings;
}

}  // namespace tempo::daemon
