// A simulated network of whole daemons: hosts as they ship, their clients, and the properties that
// watch every step.
//
// Each client runs on one host. It holds a lock until it leaves, until tempod reports the lock
// lost, or until its own clock passes the deadline, and it outlives its daemon; so does a client
// that leads a group. Half of the clients resume their leases and leads when their daemon has
// started again. All properties are judged by true time.
//
//   exclusion      no two clients are inside one lock in conflict
//   token-order    of two conflicting grants of a lease the later has the larger token
//   same-token     a client that resumes has its token again, before its deadline
//   one-leader     no two clients act as leader of one group
//   term-order     a later term of a group has a larger number
//   one-voter-set  all hosts that know the first voters know the same
//   obeys-newest   no node applies a correction of an epoch lower than one it has followed
//   bound-order    a reading lies inside its own bounds
//   monotonic      a steered clock goes back only by a step that tempod reports
//   two-sets       no token is granted by two voting sets
//   not-silent     a host whose record was changed reports it lost
//   one-main       at most one host of a lineage says that it leads the main part
//   one-time       its time lies in the bounds of every member that claims some, unless the rate of
//   a
//                  clock changes suddenly, and not in the first seconds of a network
//   invariant      no machine reports a broken invariant
// After the faults have ended:
//   one-master     one master, which all nodes follow
//   one-time       every node's bounds contain the master's time
//   progress       a lock for which clients wait is entered, unless a majority of the voters has
//   lost
//                  its records
//   a-leader       a group with candidates has a leader
//   clone-retires     a host and its clone, which hear each other, have retired
//   sets-reported      hosts with different voting sets, which hear each other, report it
// While an attacker replays recorded datagrams to a host that starts:
//   no-master      no node becomes master, and none follows another one than before
//   no-step        no clock is stepped, except that host's, to the time of the master
//   no-lock        no client loses a lock or gets one, except from live hosts
//   no-recording   with all the other hosts down, that host believes no datagram
//   no-attack      the network has a master and locks before the attack
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "lab/studies/daemon/daemon_plan.h"

namespace tempo::sim::daemon {

inline constexpr std::uint32_t kLocks = 4;  // two leases, a silent and an explicit lock
inline constexpr std::uint32_t kGroups = 2;

struct Violation {
  std::string property{};
  Instant at{};
  std::string text{};
};

struct Outcome {
  std::vector<Violation> violations{};  // the first ones
  std::uint64_t events = 0;
  std::uint64_t entries = 0;    // of clients into locks
  std::uint64_t resumes = 0;    // of locks and of leads, after a restart of the daemon
  std::uint64_t terms = 0;      // of leaders of groups
  std::uint64_t masters = 0;    // times a node became master
  std::uint64_t writes = 0;     // durable records
  std::uint64_t accidents = 0;  // of records
  std::uint64_t replayed = 0;   // datagrams that the attacker sent
  std::uint64_t sets = 0;       // voting sets
  std::uint64_t hash = 0;       // of everything that the hosts sent and reported
  std::vector<PlannedEvent> plan{};

  bool kept() const { return violations.empty(); }
};

Outcome run(const Setup& setup);

// The numbers of a smallest set of planned events with which the run still violates the same
// property. Requires that the run violates one.
std::vector<std::uint32_t> shrunk(const Setup& setup, const Outcome& outcome);

}  // namespace tempo::sim::daemon
