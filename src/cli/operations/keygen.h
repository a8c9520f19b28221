// `tempo keygen`: writes a key for the cluster, or one with which this machine alone signs,
// readable by its owner only.
#pragma once

#include <string>

namespace tempo::cli {

struct KeygenArguments {
  std::string file;    // empty: /etc/tempo/key, of a node /etc/tempo/node-key; "-": standard output
  bool node = false;   // for this machine alone
  bool force = false;  // in place of whatever is there
  bool add = false;    // before the key that is there, which stays valid
  bool json = false;
};

int keygen(const KeygenArguments& arguments);

}  // namespace tempo::cli
