// The doctor's single looks at this machine. Each is given where to look, so that tests can build a
// patient; none changes anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "api/settings.h"

namespace tempo::cli {

using Findings = std::vector<ipc::Finding>;

// Programs that steer the clock too, from `proc`/PID/comm. Where tempod leaves it alone they are no
// rivals.
Findings rival_findings(const std::string& proc, const config::Settings& settings);

// Interfaces that are up and can broadcast, from `sys`/class/net; only those named in the
// configuration, if it names some.
Findings interface_findings(const std::string& sys, const config::Settings& settings);
std::vector<std::string> broadcast_interfaces(const std::string& sys);

// Whether the UDP port is taken, from `proc`/net/udp and udp6. `ours`: tempod runs, so it should
// be.
Findings port_findings(const std::string& proc, std::uint16_t port, bool ours);

// What `nft list ruleset` printed.
Findings firewall_findings(std::string_view ruleset, std::uint16_t port);

// The key file: there, readable by its owner only, with keys in it.
Findings key_findings(const config::Settings& settings);

// Whether the kernel and the card stamp datagrams on this interface.
Findings stamp_findings(const std::string& interface);

}  // namespace tempo::cli
