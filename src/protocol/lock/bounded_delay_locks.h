// The locks of one host that are not leases: silence is consent while the bounds hold, else
// everybody has to reply (doc/internals/lock.md). Names, clients and hosts on one side, a Mutex for
// each lock on the other, and the monitor that says when silence counts.
//
// Those who vote take part, and all of them must: who is dead or cut off blocks these locks until
// it is back or forgotten. No token goes with a grant.
//
// The machine alone would let two in when a site's daemon is dead and its client is not, or when a
// word is lost that the bounds say cannot be. So, beside it:
//   - a window ends only when silence is confirmed (bounds_monitor.h);
//   - a client holds the lock until a deadline, HOLD(L) from now, which is moved on only while more
//     than half of the members have heard of this host within L/4 and know the same voters;
//   - a host that starts, or enters a view, says nothing for KEEP(L + L/4): by then whoever was
//     inside here before, or is no member any more, is not.
//
// It is pure, as machines are. Times are of a clock that goes on while the host sleeps.
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

// What is to be done.
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
    lock::lease::Rules lease{};  // L, and how far clocks run apart
    BoundsMonitor::Rules bounds{};
    std::function<std::string(HostId)> name_of{};  // as people are told
  };
  BoundedDelayLocks(Start start, Instant now, Draw& draw, BoundedDelayDriver& driver);
  BoundedDelayLocks(const BoundedDelayLocks&) = delete;
  BoundedDelayLocks& operator=(const BoundedDelayLocks&) = delete;

  // These take part from now on, or as soon as no client is inside here.
  void follow(Instant now, const wire::LockVoters& voters);

  void receive(Instant now, HostId from, Incarnation life, const wire::MutexBody& body);
  void receive(Instant now, HostId from, Incarnation life, const wire::BeatBody& body);
  void on_timer(Instant now);
  Instant due() const;

  struct LockRequest {
    ClientId client{};  // not there already
    std::string_view name;
    Mode mode = Mode::exclusive;
    bool silent = true;  // else only replies count
  };
  Result<void> acquire(Instant now, const LockRequest& request);
  void release(Instant now, ClientId client);

  std::vector<Known> known() const;
  // Whether a client here has or wants such a lock of that name, or another host has spoken of it
  // within L. Somebody who is inside elsewhere without a rival says nothing.
  bool uses(Instant now, std::string_view name) const;
  // Which mode is in force, and why, in a sentence; empty: nobody uses such locks.
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
    bool listed = false;  // it waits at its lock; not while this host rests
  };
  struct Slot {
    lock::Mutex machine;
    std::deque<ClientId> waiting{};
    std::vector<ClientId> inside{};
    Instant entered{};  // the first of those inside
    Instant deadline{};
    BoundsMonitor::Mark mark{};  // what had been said when it last spoke
    Instant heard_until{};       // L after another host spoke of it
  };
  using Slots = std::map<std::string, Slot, std::less<>>;

  void enter_view(Instant now);
  bool nobody_inside() const;
  std::optional<std::uint32_t> site_of(HostId host) const;
  bool member() const { return monitor_.has_value(); }
  bool rests(Instant now) const { return now < rest_until_; }

  Slot* slot(Instant now, std::string_view name);
  template <class Do>
  void step(Instant now, const std::string& name, Slot& slot, Do todo);
  void command(Instant now, const std::string& name, Slot& slot,
               const lock::mutex::Command& command);
  void serve(Instant now, const std::string& name, Slot& slot);
  void give(Instant now, Slot& slot, ClientId client);
  bool enlist(Instant now, ClientId client);
  void acquire(Instant now, const std::string& name, Slot& slot);
  void lose(Instant now, const std::string& name, Slot& slot);
  bool held_back(const Slot& slot) const;  // its next timer waits for silence to be confirmed
  void wake_locks(Instant now);
  void beat(Instant now);
  void stay_busy(Instant now);
  void extend(Instant now);
  void follow_monitor(Instant now);

  Start start_;
  Draw* draw_;
  BoundedDelayDriver* driver_;
  wire::LockVoters voters_{};               // of the view that is followed; number 0: none
  std::optional<wire::LockVoters> next_{};  // to be followed when nobody is inside
  std::vector<HostId> sites_;               // members, in the order of their chairs
  lock::mutex::Rules rules_{};              // outlives the machines
  lock::Bounds bounds_{};
  std::optional<BoundsMonitor> monitor_;  // none: this host is no member
  bool trusted_ = false;                  // what the machines were last told
  Slots slots_;                           // at most kMaxLocks
  std::map<ClientId, Client> clients_;    // at most kMaxClients
  Instant rest_until_{};
  Instant beat_at_ = kNever;  // while such locks are used somewhere
  Instant busy_until_{};
};

}  // namespace tempo::locks
