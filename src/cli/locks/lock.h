// tempo lock, tempo locks, tempo configure, tempo forget, tempo admit, tempo replace, tempo
// fence-check.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct LockArguments {
  std::string socket = client::kDefaultSocket;
  std::string timeout = "5s";
  std::string name;
  bool shared = false;
  std::string kind = "lease";  // lease, silent or explicit
  std::string wait;            // longest time to wait; empty: no limit
  std::string lease;           // lease time; empty: locks.lease-ms of tempod
  bool no_wait = false;
  bool json = false;  // print state changes as JSON on standard error
  std::vector<std::string> command;
};
int lock(const LockArguments& arguments);

struct LocksArguments {
  DaemonArguments daemon;
  bool voters = false;           // list the voters instead of the locks
  bool bootstrap_again = false;  // forget the voters and agree on new ones
  std::string above;             // a token; empty: none
};
int locks(const LocksArguments& arguments);

struct UnlockArguments {
  DaemonArguments daemon;
  std::string name;
};
int unlock(const UnlockArguments& arguments);

struct VoterArguments {
  DaemonArguments daemon;
  std::string host;  // name or id
};
int forget(const VoterArguments& arguments);
int admit(const VoterArguments& arguments);

struct ReplaceArguments {
  DaemonArguments daemon;
  std::string dead;       // name or id of a voter
  std::string successor;  // name or id; may be the same name
};
int replace(const ReplaceArguments& arguments);

struct ExpectArguments {
  DaemonArguments daemon;
  std::size_t voters = 0;  // number of machines that shall vote
  bool yes = false;        // do not ask
};
int configure_expect(const ExpectArguments& arguments);

struct FenceCheckArguments {
  std::string file;   // stores the newest token
  std::string token;  // to check
  bool json = false;
};
int fence_check(const FenceCheckArguments& arguments);

}  // namespace tempo::cli
