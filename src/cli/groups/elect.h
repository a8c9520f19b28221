// tempo elect, tempo leader, tempo groups, tempo watch-group, tempo resign-group.
#pragma once

#include <string>
#include <vector>

#include "cli/common/daemon.h"

namespace tempo::cli {

struct ElectArguments {
  std::string socket = client::kDefaultSocket;
  std::string timeout = "5s";
  std::string group;
  std::string criterion;  // empty: random on a ring, else load
  std::string algorithm = "b1";
  std::string min_stay = "30s";  // least time before a better candidate may replace a leader
  bool once = false;             // one job: the group is over when one machine has done it
  bool json = false;             // print state changes as JSON on standard error
  std::vector<std::string> command;
};
int elect(const ElectArguments& arguments);

struct GroupArguments {
  DaemonArguments daemon;
  std::string group;
};
int leader(const GroupArguments& arguments);
int watch_group(const GroupArguments& arguments);
int resign_group(const GroupArguments& arguments);
int groups(const DaemonArguments& arguments);

}  // namespace tempo::cli
