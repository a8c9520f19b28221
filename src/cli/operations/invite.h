// `tempo invite` and `tempo join`: a newcomer gets the name and the keys of the cluster for a
// token.
#pragma once

#include <string>
#include <vector>

#include "cli/common/daemon.h"

namespace tempo::cli {

// Prints a token: on standard output the token alone, so that a pipe can carry it.
int invite(const DaemonArguments& arguments);

struct JoinArguments {
  std::string token;  // "-": from standard input
  // Addresses of members; empty: those in the token, and all networks of this machine.
  std::vector<std::string> peers;
  std::uint16_t port = 525;                      // of the members
  std::string config = "/etc/tempo/tempo.toml";  // written unless it exists
  std::string key_file;                          // empty: as in the configuration
  std::string timeout = "10s";                   // longest wait for an answer
  bool force = false;                            // replace an existing key file
  bool json = false;
};

// Exit status 1: no member has answered, or the configuration must be changed by hand.
int join(const JoinArguments& arguments);

}  // namespace tempo::cli
