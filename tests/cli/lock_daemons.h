// Real daemons that store the locks themselves.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "lock_hosts.h"

namespace tempo {

class Daemons : public LockHosts {
 public:
  // The first `voters` machines become the voters. In the arguments '@' stands for the number of
  // the machine.
  explicit Daemons(std::size_t voters, std::string arguments = "", std::size_t others = 0)
      : LockHosts(voters + others, "locks"), voters_(voters), arguments_(std::move(arguments)) {
    for (std::size_t i = 0; i < voters; ++i) start(i);
  }

  void start(std::size_t i) {
    start_tempod(i, 20'000 + getpid() % 10'000,
                 fmt::format("--cluster locks-{} --set broadcast=\"127.255.255.255\" --set "
                             "locks.expect={} --set locks.lease-ms=1000 {}",
                             getpid(), voters_, arguments_of(i)));
  }
  void stop(std::size_t i) { stop_tempod(i); }
  void kill_all(std::size_t i) { kill_tempod(i); }

  // Every running machine reports this state of locks.
  bool all_report(const std::string& state) const {
    for (std::size_t i = 0; i < hosts(); ++i)
      if (runs_tempod(i) && lock_state(i) != state) return false;
    return true;
  }

 private:
  std::string arguments_of(std::size_t i) const {
    std::string text;
    for (const char c : arguments_) text += c == '@' ? std::to_string(i) : std::string(1, c);
    return text;
  }

  std::size_t voters_;
  std::string arguments_;
};

}  // namespace tempo
