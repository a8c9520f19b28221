// The holder of a lock, or the reason why nobody gets it, as this machine's tempod knows it, for a
// command that waits for the lock.
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

// Why a lock was not granted: a sentence, and the exit status of its own that each reason has.
struct NotGranted {
  int status = 0;
  std::string why{};
};
// The reason why a request for this kind of lock timed out. nullopt: the state shows none.
std::optional<NotGranted> why_timed_out(const ipc::LocksView& view, const std::string& name,
                                        ipc::LockKind kind, std::chrono::nanoseconds waited);
// The same for a request that tempod refused; `message` is tempod's reason.
NotGranted why_refused(const ipc::LocksView& view, const std::string& name, ipc::LockKind kind,
                       const std::string& message);

// Asks tempod once for the state of locks; waits only a moment. nullopt: no answer.
std::optional<ipc::LocksView> ask_locks(const std::string& socket);

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
