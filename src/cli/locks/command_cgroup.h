// A cgroup (version 2) for one command and all its descendants, below the cgroup of tempo.
//
// The kernel kills all its processes at once, those of other users too, however they started. Only
// root, and the owner of a delegated cgroup, can make one; without one nothing here has an effect.
#pragma once

#include <string>

#include <sys/types.h>

namespace tempo::cli {

class CommandCgroup {
 public:
  // Makes the cgroup if that is possible. It has the name of this process.
  static CommandCgroup create();

  bool exists() const { return !directory_.empty(); }
  // Like fork(2), but the child starts in the cgroup, if there is one. A process that moves there
  // afterwards waits for about 10 ms.
  pid_t fork() const;
  void kill() const;    // kills every process in it
  void remove() const;  // if no process is left in it

 private:
  std::string directory_;  // empty: there is none
};

}  // namespace tempo::cli
