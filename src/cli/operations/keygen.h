// `tempo keygen`: writes a key for the cluster, or a signing key for this machine, readable by its
// owner only.
#pragma once

#include <string>

namespace tempo::cli {

struct KeygenArguments {
  // Empty: /etc/tempo/key, with `node` /etc/tempo/node-key; "-": standard output.
  std::string file;
  bool node = false;   // a signing key for this machine only
  bool force = false;  // replace an existing file
  bool add = false;    // put the new key before the existing one, which stays valid
  bool json = false;
};

int keygen(const KeygenArguments& arguments);

}  // namespace tempo::cli
