// `tempo keygen`: writes a key for the cluster, or a signing key for this machine, readable by its
// owner only; and takes the steps of a key change in the key file of this machine.
#pragma once

#include <string>

#include "client/client.h"

namespace tempo::cli {

struct KeygenArguments {
  // Empty: /etc/tempo/key, with `node` /etc/tempo/node-key; "-": standard output.
  std::string file;
  bool node = false;   // a signing key for this machine only
  bool force = false;  // replace an existing file; take a step that cuts members off
  // Steps of a key change (key_rotation.h); at most one.
  bool add = false;
  bool promote = false;
  bool drop = false;
  bool withdraw = false;
  std::string key;  // add: key file with the key to add, "-": standard input; empty: a new key
  std::string socket = client::kDefaultSocket;  // of tempod, which knows if a step is safe
  bool json = false;
};

int keygen(const KeygenArguments& arguments);

}  // namespace tempo::cli
