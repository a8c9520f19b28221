// The holder of a lock, as this machine's tempod knows it, for a command that waits for the lock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "base/units.h"
#include "cli/common/periodic_request.h"
#include "cli/common/terminal.h"

namespace tempo::cli {

struct LockHolder {
  std::string host;              // empty: unknown
  std::optional<double> held_s;  // seconds; nullopt: unknown, another machine holds the lock
};
// The holder of the lock `name` among these locks.
LockHolder holder_of(const std::vector<ipc::LockView>& locks, const std::string& name);

// "waiting for lock 'a', held by node1 for 2.1 s". Without a holder `state`, the state of locks on
// this machine, stands there instead.
std::string waiting_text(const std::string& name, const LockHolder& holder,
                         const std::string& state);
// "lock 'a' is held by node1 (for 2.1 s); not waiting", or, if `waited` is positive, "timed out
// after 5s waiting for lock 'a', held by node1". nullopt: the holder is unknown.
std::optional<std::string> not_acquired_text(const std::string& name, const LockHolder& holder,
                                             std::chrono::nanoseconds waited);

// Asks tempod once for the holder; waits only a moment. The host is empty if there is no answer.
LockHolder ask_holder(const std::string& socket, const std::string& name);

// The line on the terminal while `tempo lock` waits; asks tempod about once a second.
class LockWaitLine {
 public:
  // `enabled` false, or no terminal: it does nothing.
  LockWaitLine(const std::string& socket, std::string name, bool enabled);

  int descriptor() const { return request_.descriptor(); }  // readable when a reply has arrived
  Nanos timeout() const { return request_.timeout(); }      // time until `update` must be called
  void update();
  void clear() { line_.clear(); }

 private:
  std::string name_;
  WaitLine line_;
  PeriodicRequest request_;
};

}  // namespace tempo::cli
