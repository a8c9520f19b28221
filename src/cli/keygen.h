// `tempo keygen`: writes a key for the cluster, readable by its owner only.
#pragma once

#include <string>

namespace tempo::cli {

struct KeygenArguments {
  std::string file = "/etc/tempo/key";  // "-": standard output
  bool force = false;                   // in place of whatever is there
  bool add = false;                     // before the key that is there, which stays valid
  bool json = false;
};

int keygen(const KeygenArguments& arguments);

}  // namespace tempo::cli
