// The locks of one host that are not leases: silence is consent while the bounds hold; otherwise
// every voter has to reply (doc/internals/lock.md). This class maps names, clients and hosts to one
// Mutex per lock and owns the monitor that decides when silence counts.
//
// All voters take part, and all of them are needed: a voter that is dead or cut off blocks these
// locks until it returns or is forgotten. A grant carries no token.
//
// The Mutex alone would let two clients in when a site's daemon is dead but its client is not, or
// when a message is lost or late although the bounds exclude that. So this class adds four rules:
//   - a window ends only when silence is confirmed (bounds_monitor.h);
//   - a client holds the lock until a deadline, HOLD(L) from now. The deadline is extended only
//     while more than half of the members have heard this host within L/4 and know the same voters;
//   - a host that starts, or enters a view, sends nothing for KEEP(L + L/4): by then the holds of
//     its previous incarnation, and those of former members, have ended;
//   - a restart message ends no refusal: the refuser is asked again (mutex.h, late_restarts).
//
// Times are boot time (BootTime), which continues while the host is suspended.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "machine/compose.h"
#include "machine/one_timer.h"
#include "protocol/lock/bounds_monitor.h"
#include "protocol/lock/lease/lease_rules.h"
#include "protocol/lock/lock_client.h"
#include "protocol/lock/mutex.h"
#include "protocol/wire/directory.h"
#include "protocol/wire/mutex_body.h"

namespace tempo::locks {

// The mode in force and its reason, as a sentence. `member` is the name of the member that the
// breach concerns.
std::string silent_mode_text(const BoundsMonitor::Breach& why, const BoundsMonitor::Rules& rules,
                             std::string_view member);

class BoundedDelayLocks {
 public:
  struct Message {
    Incarnation sender{};  // incarnation of the sender
    std::variant<wire::MutexBody, wire::BeatBody> body{};
  };
  // Makes these voters the members: now, or as soon as no client of this host is inside.
  struct Follow {
    wire::LockVoters voters{};
  };
  using Command = std::variant<Follow, Acquire, Release>;
  using Time = BootTime;
  using Notice = LockUpdate;
  using Parts = PartList<lock::Mutex>;

  struct Start {
    HostId self = kNoHost;
    Incarnation life{};
    wire::Directory* hosts = nullptr;  // numbers the hosts; must outlive the machine
    lock::lease::Rules lease{};        // L, and the largest drift between clocks
    BoundsMonitor::Rules bounds{};
  };
  explicit BoundedDelayLocks(const Start& start);

  void start(Turn<BoundedDelayLocks>& turn);
  void receive(Turn<BoundedDelayLocks>& turn, NodeId from, const Message& message);
  void on_timer(Turn<BoundedDelayLocks>& turn, TimerId timer);
  void command(Turn<BoundedDelayLocks>& turn, const Command& command);

  OneTimer<Time> timers() const { return OneTimer{due()}; }
  const char* check() const;

  std::vector<Known> known() const;
  // Whether a client of this host holds or waits for such a lock, or another host has sent a
  // message about it within L. A host whose client is inside without a rival sends nothing.
  bool uses(BootTime now, std::string_view name) const;
  // Why silence does not count at the moment; kind none: it counts. Unset: no host uses such locks.
  std::optional<BoundsMonitor::Breach> why() const;
  HostId member(const BoundsMonitor::Breach& breach) const { return sites_.at(breach.member); }
  bool trusts() const { return monitor_ && monitor_->holds(); }

 private:
  static constexpr std::size_t kMaxLocks = 1024;
  static constexpr std::size_t kMaxClients = 4096;

  struct Client {
    std::string lock;
    Mode mode = Mode::exclusive;
    bool silent = true;
    bool inside = false;
    BootTime since{};
    bool listed = false;  // it waits in its lock's queue; false while this host has to stay silent
  };
  struct Slot {
    lock::Mutex machine;
    std::deque<ClientId> waiting{};
    std::vector<ClientId> inside{};
    BootTime entered{};  // when the first of those inside entered
    BootTime deadline{};
    BoundsMonitor::Mark mark{};  // messages sent when this machine last sent one
    BootTime heard_until{};      // L after the last message of another host about this lock
  };
  using Slots = std::map<std::string, Slot, std::less<>>;

  using LockTurn = Turn<BoundedDelayLocks>;

  void on_command(LockTurn& turn, const Follow& follow);
  void on_command(LockTurn& turn, const Acquire& request);
  void on_command(LockTurn& turn, const Release& release);
  void on_message(LockTurn& turn, std::uint32_t site, Incarnation sender,
                  const wire::MutexBody& body);
  void on_message(LockTurn& turn, std::uint32_t site, Incarnation sender,
                  const wire::BeatBody& body);

  void enter_view(LockTurn& turn);
  bool nobody_inside() const;
  std::optional<std::uint32_t> site_of(HostId host) const;
  bool member() const { return monitor_.has_value(); }
  bool must_stay_silent(BootTime now) const { return now < silent_until_; }
  BootTime due() const;

  std::optional<Refusal> admit(LockTurn& turn, const Acquire& request);
  static void refuse(LockTurn& turn, ClientId client, Refusal refusal, const std::string& lock);
  Slot* slot(LockTurn& turn, std::string_view name);
  template <class Do>
  void step(LockTurn& turn, const std::string& name, Slot& slot, Do todo);
  void command(LockTurn& turn, const std::string& name, Slot& slot,
               const lock::mutex::Command& command);
  bool send(LockTurn& turn, const std::string& name, const Output<lock::Mutex>& output);
  void serve(LockTurn& turn, const std::string& name, Slot& slot);
  void grant(LockTurn& turn, Slot& slot, ClientId client);
  bool enqueue(LockTurn& turn, ClientId client);
  void acquire(LockTurn& turn, const std::string& name, Slot& slot);
  void lose(LockTurn& turn, const std::string& name, Slot& slot);
  bool held_back(const Slot& slot) const;  // its next timer waits until silence is confirmed
  void wake_locks(LockTurn& turn);
  void beat(LockTurn& turn);
  void start_beating(BootTime now);
  void extend(LockTurn& turn);
  void follow_monitor(LockTurn& turn);

  Start start_;
  wire::LockVoters voters_{};               // of the current view; number 0: none
  std::optional<wire::LockVoters> next_{};  // view to enter when no client is inside; unset: none
  std::vector<HostId> sites_;               // members, in the order of their slots among the voters
  std::unique_ptr<const lock::mutex::Rules> rules_;  // the machines of the locks refer to it
  lock::Bounds bounds_{};
  std::optional<BoundsMonitor> monitor_;  // unset: this host is not a member
  bool trusted_ = false;                  // the state last passed to the machines
  Slots slots_;                           // at most kMaxLocks
  std::map<ClientId, Client> clients_;    // at most kMaxClients
  BootTime silent_until_{};
  BootTime beat_at_ = kNever;  // next heartbeat; kNever: no host uses such locks
  BootTime busy_until_{};
};

}  // namespace tempo::locks
