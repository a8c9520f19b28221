// `tempo classic`: the commands of timedc, for hosts that speak TSP version 1: tempod in classic
// mode, and the time daemons of 4.3BSD.
//
// Each command asks the hosts one after another and reports each. Exit status 1: a host has not
// answered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempo::cli {

struct ClassicArguments {
  std::vector<std::string> hosts;  // names or IPv4 addresses
  std::uint16_t port = 525;
  std::string timeout = "3s";  // longest wait for the answer of a host
  bool json = false;
};

int classic_msite(const ClassicArguments& arguments);      // Msite
int classic_clockdiff(const ClassicArguments& arguments);  // ICMP timestamps
int classic_election(const ClassicArguments& arguments);   // Test, which no host acknowledges
int classic_trace_on(const ClassicArguments& arguments);   // Traceon
int classic_trace_off(const ClassicArguments& arguments);  // Traceoff

}  // namespace tempo::cli
