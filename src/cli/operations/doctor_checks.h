// Checks of `tempo doctor`. Each gets the directories that it reads, so that tests can build them;
// none changes anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "api/settings.h"

namespace tempo::cli {

using Findings = std::vector<ipc::Finding>;

// Other programs that steer the clock, from `proc` (platform/time_daemons.h). They are no problem if tempod does not
// steer it.
Findings rival_findings(const std::string& proc, const config::Settings& settings);

// Interfaces that are up and can broadcast, from `sys`/class/net; only those that the configuration
// names, if it names some.
Findings interface_findings(const std::string& sys, const config::Settings& settings);
std::vector<std::string> broadcast_interfaces(const std::string& sys);

// Whether the UDP port is open, from `proc`/net/udp and udp6. `ours`: tempod runs and should have
// opened it.
Findings port_findings(const std::string& proc, std::uint16_t port, bool ours);

// Reads the output of `nft list ruleset`.
Findings firewall_findings(std::string_view ruleset, std::uint16_t port);

// The key file: it exists, only its owner can read it, and it contains keys.
Findings key_findings(const config::Settings& settings);

// Whether the kernel and the network card timestamp datagrams on this interface.
Findings stamp_findings(const std::string& interface);

}  // namespace tempo::cli
