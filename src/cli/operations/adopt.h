// `tempo adopt`: switches this machine from another time daemon to tempod, and back.
//
// It stops and masks the units of the other daemons, so that nothing starts them again, and starts
// tempod. Before that it writes what it is going to change to a file, from which --undo restores
// them.
#pragma once

#include <string>

namespace tempo::cli {

struct AdoptArguments {
  bool check = false;  // only list them; exit status 1 if there are any
  bool undo = false;
  bool yes = false;                          // do not ask
  std::string state_dir = "/var/lib/tempo";  // of tempod; the file is `adopted` there
  bool json = false;
};

int adopt(const AdoptArguments& arguments);

}  // namespace tempo::cli
