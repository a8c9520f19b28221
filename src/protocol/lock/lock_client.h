// The clients of a host's locks: their requests, the updates that they get, and the reasons why a
// request is refused. The lock services and other back ends share these types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/mode.h"

namespace tempo::locks {

using lock::Mode;
using lock::Token;
using lock::lease::ClientId;

// A client with this bit is a group of this host, not a program.
inline constexpr std::uint32_t kGroupBit = 0x8000'0000;
inline bool is_group(ClientId client) { return (std::to_underlying(client) & kGroupBit) != 0; }

// How the members agree on a lock (doc/internals/lock.md).
enum class LockKind : std::uint8_t { lease, silent, explicit_replies };

inline constexpr Nanos kShortestLease = 40ms;

// A client wants a lock. A client that already holds or waits for a lock is ignored.
struct Acquire {
  ClientId client{};
  std::string name{};
  Mode mode = Mode::exclusive;
  LockKind kind = LockKind::lease;
  std::uint64_t network_us = 0;  // lease: network time, as well as it is known, in microseconds
  Nanos lease{0};  // lease: its length, from kShortestLease to Rules::longest; 0: Rules::lease
  lock::lease::Session session{};  // lease; number 0: the client cannot resume
  Nanos waited{0};       // lease: time that the client waited for the lock before a restart
  bool no_wait = false;  // lease: refuse it at once if another client is inside
};

// A client is inside since before a restart of this host's daemon. A grant with the same token
// follows, or `lost`: then the client is inside until its deadline, as without a daemon.
struct Resume {
  ClientId client{};
  std::string name{};
  Mode mode = Mode::exclusive;
  lock::lease::Session session{};
  Token token = lock::kNoToken;
  HostId origin = kNoHost;  // as in the grant
  BootTime deadline{};      // the client's last one
  Nanos lease{0};           // as requested
};

// The client has finished, no longer waits, or died. An unknown client is ignored.
struct Release {
  ClientId client{};
};

enum class Refusal : std::uint8_t {
  queue_full,  // too many clients of this host wait for this lock
  empty_name,
  long_name,
  bad_name,  // a space or a character that is not printable ASCII
  lease_length,
  too_many_clients,  // of this host
  too_many_locks,
  no_voters,       // they are not known yet
  witness,         // this host votes but does not lock
  used_as_lease,   // the request is for another kind
  used_as_silent,  // or explicit: the request is for a lease
  lease_of_other_kind,
  no_vote,  // of this host, which silent and explicit locks need
  held,     // another client is inside, and this one does not wait
  count
};
std::string_view name_of(Refusal refusal);  // for counters: "queue_full"

// A message to a client about its lock.
struct LockUpdate {
  enum class Kind : std::uint8_t {
    granted,   // the client is inside until `deadline`
    extended,  // the client is inside until a later `deadline`
    lost,      // the client is no longer inside and has to acquire the lock again
    refused,
  };
  ClientId client{};
  Kind kind = Kind::granted;
  Token token = lock::kNoToken;           // valid for granted
  HostId origin = kNoHost;                // granted, lease: for Resume
  BootTime deadline{};                    // valid for granted and extended
  Refusal refusal = Refusal::queue_full;  // valid for refused
  std::string lock{};                     // name of the lock; valid for refused
  std::string sentence{};  // refused: the reason for users, by the driver; empty: queue_full
};

// The defect of a lock name; unset: the name is valid.
std::optional<Refusal> defect_of(std::string_view name);

// The reason for users. `longest` is the longest lease. Empty: queue_full and held; or no_voters,
// where the status of the locks says more.
std::string refusal_text(Refusal refusal, std::string_view name, Nanos longest);

// A lock that this host has state about.
struct Known {
  std::string name;
  LockKind kind = LockKind::lease;
  Mode mode = Mode::exclusive;   // of the lease that is held or promised
  HostId holder = kNoHost;       // holder of the lease, as far as this host knows; kNoHost: unknown
  bool held_here = false;        // a client of this host is or was inside under the current lease
  Token token = lock::kNoToken;  // of the newest grant; valid if held here
  BootTime until{};              // end of the lease or of the promise
  struct Client {
    ClientId id{};
    Mode mode = Mode::exclusive;
    bool inside = false;
    BootTime since{};  // time of entry, or of the request while it waits
    Token token = lock::kNoToken;
  };
  std::vector<Client> clients;  // clients of this host
  struct Waiter {
    HostId host = kNoHost;
    Mode mode = Mode::exclusive;
    std::uint64_t ticket = 0;  // network time of the request, in microseconds, or slightly later
  };
  std::vector<Waiter> elsewhere;  // recently announced by other hosts; each host's oldest
};

}  // namespace tempo::locks
