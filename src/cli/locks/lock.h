// tempo lock, tempo locks, tempo forget, tempo admit, tempo fence-check.
#pragma once

#include <string>
#include <vector>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct LockArguments {
  std::string socket = client::kDefaultSocket;
  std::string timeout = "5s";
  std::string name;
  bool shared = false;
  std::string kind = "lease";
  std::string wait;   // empty: for ever
  std::string lease;  // empty: as long as the network's
  bool no_wait = false;
  std::vector<std::string> command;
};
int lock(const LockArguments& arguments);

int locks(const DaemonArguments& arguments);

struct VoterArguments {
  DaemonArguments daemon;
  std::string host;
};
int forget(const VoterArguments& arguments);
int admit(const VoterArguments& arguments);

struct FenceCheckArguments {
  std::string file;
  std::string token;
};
int fence_check(const FenceCheckArguments& arguments);

}  // namespace tempo::cli
