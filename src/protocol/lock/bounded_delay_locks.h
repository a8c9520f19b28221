// The locks of one host that are not leases: silence is consent while the bounds hold; otherwise
// every voter has to reply (doc/internals/lock.md). This class maps names, clients and hosts to one
// Mutex per lock and owns the monitor that decides when silence counts.
//
// All voters take part, and all of them are needed: a voter that is dead or cut off blocks these
// locks until it returns or is forgotten. A grant carries no token.
//
// The Mutex alone would let two clients in when a site's daemon is dead but its client is not, or
// when a message is lost although the bounds exclude that. So this class adds three rules:
//   - a window ends only when silence is confirmed (bounds_monitor.h);
//   - a client holds the lock until a deadline, HOLD(L) from now. The deadline is extended only
//     while more than half of the members have heard this host within L/4 and know the same voters;
//   - a host that starts, or enters a view, sends nothing for KEEP(L + L/4): by then the holds of
//     its previous incarnation, and those of former members, have ended.
//
// It is pure, like a machine. Times are of a clock that keeps running while the host is suspended.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/machine.h"
#include "protocol/lock/bounds_monitor.h"
#include "protocol/lock/lease/lease_rules.h"
#include "protocol/lock/lock_service.h"
#include "protocol/lock/mutex.h"
#include "protocol/wire/mutex_body.h"

namespace tempo::locks {

// Carries out the outputs of BoundedDelayLocks.
class BoundedDelayDriver {
 public:
  virtual ~BoundedDelayDriver() = default;
  virtual void broadcast(const wire::MutexBody& body) = 0;
  virtual void broadcast(const wire::BeatBody& body) = 0;
  virtual void send(HostId to, const wire::MutexBody& body) = 0;
  virtual void notify(ClientId client, const LockUpdate& update) = 0;
};

class BoundedDelayLocks {
 public:
  struct Start {
    HostId self = kNoHost;
    Incarnation life{};
    lock::lease::Rules lease{};  // L, and the largest drift between clocks
    BoundsMonitor::Rules bounds{};
    std::function<std::string(HostId)> name_of{};  // name of a host for messages to users
  };
  BoundedDelayLocks(Start start, Instant now, Draw& draw, BoundedDelayDriver& driver);
  BoundedDelayLocks(const BoundedDelayLocks&) = delete;
  BoundedDelayLocks& operator=(const BoundedDelayLocks&) = delete;

  // Makes these voters the members: now, or as soon as no client of this host is inside.
  void follow(Instant now, const wire::LockVoters& voters);

  void receive(Instant now, HostId from, Incarnation incarnation, const wire::MutexBody& body);
  void receive(Instant now, HostId from, Incarnation incarnation, const wire::BeatBody& body);
  void on_timer(Instant now);
  Instant due() const;

  struct LockRequest {
    ClientId client{};  // must not hold or wait for a lock already
    std::string_view name;
    Mode mode = Mode::exclusive;
    bool silent = true;  // false: only explicit replies count
  };
  Result<void> acquire(Instant now, const LockRequest& request);
  void release(Instant now, ClientId client);

  std::vector<Known> known() const;
  // Whether a client of this host holds or waits for such a lock, or another host has sent a
  // message about it within L. A host whose client is inside without a rival sends nothing.
  bool uses(Instant now, std::string_view name) const;
  // The mode in force and its reason, as a sentence; empty: no host uses such locks.
  std::string mode() const;
  bool trusts() const { return monitor_ && monitor_->holds(); }

 private:
  static constexpr std::size_t kMaxLocks = 1024;
  static constexpr std::size_t kMaxClients = 4096;

  struct Client {
    std::string lock;
    Mode mode = Mode::exclusive;
    bool silent = true;
    bool inside = false;
    Instant since{};
    bool listed = false;  // it waits in its lock's queue; false while this host has to stay silent
  };
  struct Slot {
    lock::Mutex machine;
    std::deque<ClientId> waiting{};
    std::vector<ClientId> inside{};
    Instant entered{};  // when the first of those inside entered
    Instant deadline{};
    BoundsMonitor::Mark mark{};  // messages sent when this machine last sent one
    Instant heard_until{};       // L after the last message of another host about this lock
  };
  using Slots = std::map<std::string, Slot, std::less<>>;

  void enter_view(Instant now);
  bool nobody_inside() const;
  std::optional<std::uint32_t> site_of(HostId host) const;
  bool member() const { return monitor_.has_value(); }
  bool must_stay_silent(Instant now) const { return now < silent_until_; }

  Slot* slot(Instant now, std::string_view name);
  template <class Do>
  void step(Instant now, const std::string& name, Slot& slot, Do todo);
  void command(Instant now, const std::string& name, Slot& slot,
               const lock::mutex::Command& command);
  void serve(Instant now, const std::string& name, Slot& slot);
  void grant(Instant now, Slot& slot, ClientId client);
  bool enqueue(Instant now, ClientId client);
  void acquire(Instant now, const std::string& name, Slot& slot);
  void lose(Instant now, const std::string& name, Slot& slot);
  bool held_back(const Slot& slot) const;  // its next timer waits until silence is confirmed
  void wake_locks(Instant now);
  void beat(Instant now);
  void start_beating(Instant now);
  void extend(Instant now);
  void follow_monitor(Instant now);

  Start start_;
  Draw* draw_;
  BoundedDelayDriver* driver_;
  wire::LockVoters voters_{};               // of the current view; number 0: none
  std::optional<wire::LockVoters> next_{};  // view to enter when no client is inside; unset: none
  std::vector<HostId> sites_;               // members, in the order of their slots among the voters
  lock::mutex::Rules rules_{};              // must outlive the machines
  lock::Bounds bounds_{};
  std::optional<BoundsMonitor> monitor_;  // unset: this host is not a member
  bool trusted_ = false;                  // the state last passed to the machines
  Slots slots_;                           // at most kMaxLocks
  std::map<ClientId, Client> clients_;    // at most kMaxClients
  Instant silent_until_{};
  Instant beat_at_ = kNever;  // next heartbeat; kNever: no host uses such locks
  Instant busy_until_{};
};

}  // namespace tempo::locks
